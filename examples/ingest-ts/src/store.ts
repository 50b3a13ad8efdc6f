import { RecordId, Surreal } from "surrealdb";

export interface Sheet {
	number: number;
	html: string;
}

export interface Material {
	title: string;
	pages: number;
	words: number;
	note?: string | undefined;
}

/** What the backend keeps. All of it may be written again: the ids follow from the input. */
export class Store {
	private constructor(private readonly db: Surreal) {}

	/** Connects to the database that `spky dev` names. */
	static async open(): Promise<Store> {
		const { SPKY_DB_URL = "http://127.0.0.1:8666", SPKY_DB_NS = "main", SPKY_DB_NAME = "main", SPKY_DB_USER = "root", SPKY_DB_PASS = "root" } = process.env;
		const db = new Surreal();
		await db.connect(`${SPKY_DB_URL.replace(/^ws/, "http")}/rpc`, { namespace: SPKY_DB_NS, database: SPKY_DB_NAME, authentication: { username: SPKY_DB_USER, password: SPKY_DB_PASS } });
		return new Store(db);
	}

	async ping(): Promise<void> {
		await this.db.query("RETURN true");
	}

	async writeSheets(material: string, sheets: Sheet[]): Promise<void> {
		const rows = sheets.map((sheet) => ({ id: new RecordId("sheet", [material, sheet.number]), material, ...sheet }));
		await this.db.query("FOR $row IN $rows { UPSERT $row.id CONTENT $row }", { rows });
	}

	async publish(name: string, { note, ...material }: Material): Promise<void> {
		const content = note === undefined ? material : { ...material, note };
		await this.db.query("DELETE sheet WHERE material = $name AND number > $content.pages; UPSERT $id CONTENT $content", { name, id: new RecordId("material", name), content });
	}
}
