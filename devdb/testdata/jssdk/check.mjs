// Does with the JavaScript SDK what a browser application does, against the server named by the environment.
import assert from "node:assert/strict";
import { RecordId, Surreal, Table } from "surrealdb";
import { WebSocket } from "ws";

globalThis.WebSocket ??= WebSocket; // Node.js has it since 22

const { ENDPOINT, NAMESPACE, DATABASE, DB_USER, DB_PASS } = process.env;

async function connect() {
	const db = new Surreal();
	await db.connect(`${ENDPOINT}/rpc`, { namespace: NAMESPACE, database: DATABASE });
	return db;
}

const root = await connect();
await root.signin({ username: DB_USER, password: DB_PASS });
await root.query(`
	DEFINE ACCESS account ON DATABASE TYPE RECORD
		SIGNUP (CREATE user SET name = $name, pass = crypto::argon2::generate($pass))
		SIGNIN (SELECT * FROM user WHERE name = $name AND crypto::argon2::compare(pass, $pass));
	DEFINE TABLE user PERMISSIONS FOR select WHERE id = $auth;
	DEFINE TABLE note PERMISSIONS FOR select, create, update, delete WHERE owner = $auth;
	DEFINE FIELD owner ON note VALUE $before OR $auth;
`);

const ann = await connect();
await ann.signup({ namespace: NAMESPACE, database: DATABASE, access: "account", variables: { name: "ann", pass: "a" } });
const bob = await connect();
await bob.signup({ namespace: NAMESPACE, database: DATABASE, access: "account", variables: { name: "bob", pass: "b" } });

const live = await ann.live(new Table("note"));
const seen = [];
const both = new Promise((resolve) => {
	live.subscribe(({ action, recordId, value }) => {
		seen.push([action, String(recordId), value.text]);
		if (seen.length === 2) resolve();
	});
});

await bob.create(new RecordId("note", "b")).content({ text: "not for ann" });
await ann.create(new RecordId("note", "a")).content({ text: "hello", at: new Date(0), big: 9007199254740993n });
await ann.update(new RecordId("note", "a")).merge({ text: "changed" });
await both;
assert.deepEqual(seen, [["CREATE", "note:a", "hello"], ["UPDATE", "note:a", "changed"]]);

const [notes] = await bob.query("SELECT VALUE text FROM note");
assert.deepEqual(notes, ["not for ann"]);

// A second session on the same connection is somebody else.
const second = await root.newSession();
await assert.rejects(async () => await second.query("RETURN 1"), /Anonymous access not allowed/);
await second.signin({ namespace: NAMESPACE, database: DATABASE, access: "account", variables: { name: "bob", pass: "b" } });
await second.use({ namespace: NAMESPACE, database: DATABASE });
assert.deepEqual((await second.query("SELECT VALUE text FROM note"))[0], ["not for ann"]);
await second.closeSession();

await ann.invalidate();
await assert.rejects(async () => await ann.query("RETURN 1"), /Anonymous access not allowed/);

for (const db of [root, ann, bob]) await db.close();
process.exit(0); // the SDK leaves a timer behind
