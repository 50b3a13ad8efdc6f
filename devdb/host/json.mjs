import { Tagged } from "./decode.mjs";

/**
 * Renders a decoded value the way SurrealDB writes JSON: what JSON has no type for becomes text, NONE becomes null.
 *
 * @param {unknown} value
 * @returns {unknown}
 */
export function plain(value) {
	if (value === undefined) return null;
	if (typeof value === "bigint") return Number(value);
	if (Buffer.isBuffer(value)) return [...value];
	if (Array.isArray(value)) return value.map(plain);
	if (value instanceof Map) return Object.fromEntries([...value].map(([key, inner]) => [key, plain(inner)]));
	if (value instanceof Tagged) return tagged(value);
	return value;
}

/** SurrealDB's tags of CBOR. */
const TAG = Object.freeze({
	TABLE: 7,
	RECORD: 8,
	UUID_TEXT: 9,
	DECIMAL: 10,
	DATETIME: 12,
	DURATION_TEXT: 13,
	DURATION: 14,
	UUID: 37,
	RANGE: 49,
	INCLUDED: 50,
	SET: 56,
	POINT: 88,
	GEOMETRIES: 94,
});

/** @param {Tagged} item */
function tagged({ tag, value }) {
	switch (tag) {
		case TAG.RECORD: {
			const [table, key] = /** @type {[string, unknown]} */ (value);
			return `${name(table)}:${recordKey(key)}`;
		}
		case TAG.UUID:
			return uuid(/** @type {Buffer} */ (value));
		case TAG.DATETIME:
			return datetime(/** @type {[number, number]} */ (value));
		case TAG.DURATION:
			return duration(/** @type {number[]} */ (value));
		case TAG.RANGE:
			return range(/** @type {unknown[]} */ (value));
		default:
			if (tag >= TAG.POINT && tag <= TAG.GEOMETRIES) return geometry(tag, value);
			return plain(value);
	}
}

/** @param {string} text a table's name, or a record's key */
function name(text) {
	return /^[A-Za-z_][A-Za-z0-9_]*$/.test(text) ? text : `\`${text.replace(/[\\`]/g, "\\$&")}\``;
}

/** @param {unknown} key */
function recordKey(key) {
	if (typeof key === "string") return name(key);
	if (key instanceof Tagged && key.tag === TAG.UUID) return `u'${plain(key)}'`;
	return typeof key === "number" || typeof key === "bigint" ? String(key) : JSON.stringify(plain(key));
}

/** @param {Buffer} bytes */
function uuid(bytes) {
	return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** @param {[number, number]} value seconds and nanoseconds since 1970 */
function datetime([seconds, nanos]) {
	const whole = new Date(seconds * 1000).toISOString().slice(0, 19);
	const fraction = nanos ? `.${String(nanos).padStart(9, "0").replace(/0+$/, "")}` : "";
	return `${whole}${fraction}Z`;
}

const UNITS = Object.freeze([
	["y", 365 * 86400],
	["w", 7 * 86400],
	["d", 86400],
	["h", 3600],
	["m", 60],
	["s", 1],
]);

/** @param {number[]} value seconds and nanoseconds */
function duration([seconds = 0, nanos = 0]) {
	let out = "";
	let rest = seconds;
	for (const [unit, size] of /** @type {[string, number][]} */ (UNITS)) {
		const count = Math.floor(rest / size);
		if (count > 0) out += `${count}${unit}`;
		rest -= count * size;
	}
	for (const [unit, size] of /** @type {[string, number][]} */ ([["ms", 1e6], ["µs", 1e3], ["ns", 1]])) {
		const count = Math.floor(nanos / size) % 1000;
		if (count > 0) out += `${count}${unit}`;
	}
	return out || "0ns";
}

/** @param {unknown[]} bounds */
function range([from, to]) {
	const edge = (/** @type {unknown} */ bound) => (bound instanceof Tagged ? String(plain(bound.value)) : "");
	const inclusive = to instanceof Tagged && to.tag === TAG.INCLUDED;
	return `${edge(from)}..${inclusive ? "=" : ""}${edge(to)}`;
}

const SHAPES = ["Point", "LineString", "Polygon", "MultiPoint", "MultiLineString", "MultiPolygon"];

/**
 * @param {number} tag
 * @param {unknown} value
 */
function geometry(tag, value) {
	if (tag === TAG.GEOMETRIES) return { type: "GeometryCollection", geometries: plain(value) };
	return { type: SHAPES[tag - TAG.POINT], coordinates: coordinates(value) };
}

/**
 * @param {unknown} value
 * @returns {unknown}
 */
function coordinates(value) {
	if (value instanceof Tagged) return coordinates(value.value);
	return Array.isArray(value) ? value.map(coordinates) : plain(value);
}
