/** Why the host does not start, in one line that says the remedy. */
export class StartError extends Error {
	name = "StartError";

	/**
	 * @param {"usage" | "port" | "locked" | "data" | "credentials" | "engine"} reason
	 * @param {string} message
	 */
	constructor(reason, message) {
		super(message);
		this.reason = reason;
	}
}
