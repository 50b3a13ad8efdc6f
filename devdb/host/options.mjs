import { parseArgs } from "node:util";
import { StartError } from "./start-error.mjs";

/**
 * @typedef {object} Options
 * @property {string} host
 * @property {number} port
 * @property {string} data        directory of the database's files
 * @property {boolean} ephemeral  delete that directory at the end
 * @property {boolean} sync       wait for the disk at every commit
 * @property {string} user        root user
 * @property {string} pass        and its password
 */

/**
 * Credentials come by environment: a command line can be read by every user of the machine.
 *
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} env
 * @returns {Options}
 */
export function options(args, env) {
	const { values } = parsed(args);
	const { host, port } = address(values.listen);
	if (!values.data) throw new StartError("usage", "say where the data goes: --data DIRECTORY");
	if (values.data.includes("?")) {
		throw new StartError("usage", "the engine cannot open a path with a question mark in it: choose another --data");
	}
	return {
		host,
		port,
		data: values.data,
		ephemeral: values.ephemeral,
		sync: values.sync,
		user: env.SPKY_DB_USER || "root",
		pass: env.SPKY_DB_PASS || "root",
	};
}

/** @param {string[]} args */
function parsed(args) {
	try {
		return parseArgs({
			args,
			options: {
				listen: { type: "string", default: "127.0.0.1:8666" },
				data: { type: "string" },
				ephemeral: { type: "boolean", default: false },
				sync: { type: "boolean", default: false },
			},
		});
	} catch (err) {
		throw new StartError("usage", /** @type {Error} */ (err).message);
	}
}

/**
 * Only this machine may connect: the development database has a password everybody knows.
 *
 * @param {string} listen
 */
function address(listen) {
	const [, host, port] = /^\[?([^\]]*)\]?:(\d+)$/.exec(listen) ?? [];
	if (!host || Number(port) > 65535) throw new StartError("usage", `--listen ${listen}: write HOST:PORT`);
	if (host !== "localhost" && host !== "::1" && !/^127(\.\d{1,3}){3}$/.test(host)) {
		throw new StartError("usage", `--listen ${listen}: the development database listens on loopback only, for instance 127.0.0.1:8666`);
	}
	return { host, port: Number(port) };
}
