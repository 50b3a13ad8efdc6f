/** Calls the database over HTTP, as workerd does, until the token it signed in with has expired and it has another. */

const dist = new URL("../../node_modules/@spooky-sync/backend/dist/", import.meta.url);
const { HttpTransport } = (await import(new URL("http.js", dist).href)) as typeof import("../../../sdk/typescript/dist/http.js");
const { Database } = (await import(new URL("database.js", dist).href)) as typeof import("../../../sdk/typescript/dist/database.js");
const { DatabaseError } = (await import(new URL("dberror.js", dist).href)) as typeof import("../../../sdk/typescript/dist/dberror.js");

const { SPKY_DB_URL: url = "", SPKY_DB_NS: namespace = "", SPKY_DB_NAME: database = "", SPKY_DB_USER: username = "", SPKY_DB_PASS: password = "" } = process.env;
const transport = new HttpTransport({ url, namespace, database, username, password });
const db = new Database({ url, namespace, database, username, password }, () => transport);

const held = () => (transport as unknown as { token?: string }).token;

await db.query("RETURN $value", { value: "first" });
const first = held();
while (held() === first) {
	await new Promise((resolve) => setTimeout(resolve, 200));
	await db.query("RETURN $value", { value: "again" });
}
const wrong = new Database({ url, namespace, database, username, password }, () => new HttpTransport({ url, namespace, database, username, password: "wrong" }));
const refused: unknown = await wrong.query("RETURN 1", {}).catch((error: unknown) => error);
if (!(refused instanceof DatabaseError) || !refused.auth || !refused.message.includes("SPKY_DB_USER")) throw new Error(`a wrong password gives ${String(refused)}`);
const large: unknown = await db.query("RETURN $value", { value: "x".repeat(5 << 20) }).catch((error: unknown) => error);
if (!(large instanceof DatabaseError) || !large.message.includes("send less at once")) throw new Error(`a large request gives ${String(large)}`);
console.log("listening 0");
