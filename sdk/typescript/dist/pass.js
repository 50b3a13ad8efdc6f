import { stored } from "./errors.js";
import { encodeValue } from "./json.js";
import { LEASE_MS, RENEW_MS } from "./protocol.js";
import { Run } from "./run.js";
/** One run of an instance, from its lease to its end. */
export class Pass {
    run;
    kept = performance.now();
    beating = false;
    constructor(got, options) {
        this.run = new Run(got, options);
    }
    /** Runs the workflow's code and writes what it came to. Throws nothing. */
    async drive(code) {
        const beats = setInterval(() => void this.beat(), RENEW_MS);
        try {
            return await this.conclude(await this.came(code));
        }
        finally {
            clearInterval(beats);
            this.run.cancelled.happen(new Error("the run is over")); // for steps that nobody waited for
        }
    }
    async came(code) {
        const executed = this.execute(code);
        return Promise.race([executed, this.run.ended.then(() => undefined)]);
    }
    async execute(code) {
        try {
            return { output: await code(this.run) };
        }
        catch (error) {
            return { error };
        }
    }
    /** Renews the lease; one that nothing has renewed for as long as it lasts is somebody else's. */
    async beat() {
        const { run } = this;
        if (this.beating || run.over)
            return;
        this.beating = true;
        try {
            run.heard(await run.renew());
            this.kept = performance.now();
        }
        catch (error) {
            if (performance.now() - this.kept > LEASE_MS) {
                run.log.warn("no heartbeat reached the database", { error: String(error) });
                run.stop("lost");
            }
        }
        finally {
            this.beating = false;
        }
    }
    async conclude(came) {
        const { run } = this;
        if (run.end === "refused")
            return this.finish({ error: run.fault });
        if (run.over || !came)
            return this.leave();
        if (run.checkEnd())
            return this.leave();
        run.stop("finished"); // steps that nobody waited for may not begin any more
        return this.finish(came);
    }
    /** Ends a run that is over before its workflow is. */
    async leave() {
        const { run } = this;
        if (run.end === "shutdown") {
            await run.idle(); // attempts that are taken back are written before the next run may begin
            await run.handBack();
        }
        await run.endWrites();
        return { state: run.end === "refused" || run.end === undefined ? "lost" : run.end };
    }
    async finish(came) {
        const { run } = this;
        const [end, size] = this.ending(came);
        await run.endWrites();
        try {
            const ack = await run.write(() => run.finish(end, size));
            if (!ack.ok)
                return { state: "lost" };
        }
        catch (error) {
            run.log.warn("the end of the workflow could not be stored; another run will come to it again", { error: String(error) });
            return { state: "lost" };
        }
        if (!end.error)
            return { state: "complete" };
        run.log.warn("workflow errored", { error: end.error.message });
        return { state: "errored", error: end.error.message };
    }
    ending(came) {
        const { warning } = this.run;
        let error;
        try {
            if ("error" in came)
                throw came.error;
            const { value, size } = encodeValue("output of the workflow", came.output);
            return [{ status: "complete", output: value, error: undefined, warning }, size];
        }
        catch (thrown) {
            error = stored(thrown);
        }
        return [{ status: "errored", output: undefined, error, warning }, error.message.length];
    }
}
