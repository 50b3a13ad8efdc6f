import { Cancellation } from "./cancellation.js";
import { DatabaseError, unreachable } from "./dberror.js";
import { History } from "./history.js";
import { turn } from "./platform.js";
import { LEASE_MS } from "./protocol.js";
import { DateTime } from "./values.js";
/** Thrown through a step that may not go on because its run is over; its caller then waits for ever. */
export const OVER = Symbol("the run is over");
/** What a call gives that never comes back: the code hangs there, and is forgotten with its run. */
export function hang() {
    return new Promise(() => undefined);
}
/** The pause after which a call is repeated that did not reach the database. */
const RETRY_PAUSE_MS = 100;
/** Why the signals of a run's attempts end. */
const CAUSES = {
    lost: "the instance was taken away: terminated, restarted, or leased to another run",
    refused: "the database refuses a step",
    shutdown: "the process shuts down",
};
/**
 * One pass over a workflow's code: it replays what is stored and executes what is not. It ends by finishing, by
 * suspending (to wait, to hand over, to pause), or by losing the instance.
 */
export class Run {
    options;
    instance;
    log;
    /** Happens when what executes has to stop. */
    cancelled = new Cancellation();
    /** Settles when the run ends before the workflow does. */
    ended;
    /** Whether no step may begin or be stored any more, and how that came. */
    over = false;
    end;
    /** What the database refused. */
    fault;
    warning;
    /** Somebody asked for a pause. */
    pausing;
    /** What earlier runs have stored. */
    history;
    store;
    events;
    started = performance.now();
    began;
    endings = [];
    waits = [];
    active = 0; // steps executing
    entering = 0; // about to execute, or not
    held = 0; // that would execute, were the run not pausing or out of budget
    draining = false; // out of budget: hand over when nothing executes any more
    stepped = false; // this run has stored a step of its own
    settling = false;
    finishEnded;
    idlers = [];
    constructor(got, options) {
        this.options = options;
        this.instance = got.instance;
        this.history = new History(got.steps);
        this.events = got.events;
        this.store = options.store;
        this.began = got.now.ms;
        this.pausing = got.instance.pause_requested !== undefined;
        this.ended = new Promise((resolve) => (this.finishEnded = resolve));
        const facts = { binding: got.instance.binding, instance: got.instance.id, run: got.instance.runs };
        this.log = withFacts(options.log, facts);
    }
    /** The database's clock, carried on by this process's monotonic one, in whole milliseconds. */
    now() {
        return Math.floor(this.began + performance.now() - this.started);
    }
    get stepLimit() {
        return this.options.stepLimit;
    }
    get trace() {
        return this.options.trace;
    }
    /** Whether the budget would be used up by a pause. */
    spent(pauseMs = 0) {
        return performance.now() + pauseMs - this.started > this.options.budgetMs;
    }
    /**
     * Lets a step begin that is not stored as done, or throws OVER. However short the budget, a run may take one step,
     * so that every run gets further.
     */
    async enter(key, row) {
        if (this.over)
            throw OVER;
        if (!row && !this.history.allReached && !this.warning)
            await this.checkOrder(key);
        if (this.over)
            throw OVER;
        if (this.stepped && this.spent())
            this.draining = true;
        if (this.pausing || this.draining) {
            this.held++;
            this.settle(); // steps that execute beside this one finish first
            throw OVER;
        }
        this.active++;
    }
    /** Ends what enter began. */
    leave() {
        this.active--;
        if (this.active === 0)
            for (const idler of this.idlers.splice(0))
                idler();
        this.settle();
    }
    /** Ends what enter began with a wait for something that only another run will see. Throws OVER. */
    park(wait) {
        this.waits.push(wait);
        throw OVER; // whoever called enter leaves
    }
    /** When no step executes any more. */
    idle() {
        return this.active === 0 ? Promise.resolve() : new Promise((resolve) => this.idlers.push(resolve));
    }
    /**
     * Suspends the run once nothing moves any more. The code may be about to call another step, which only shows when
     * everything has run that is ready to.
     */
    settle() {
        if (this.over || this.active > 0 || this.settling)
            return;
        if (!this.draining && !this.pausing && this.waits.length === 0)
            return;
        this.settling = true;
        void turn().then(turn).then(() => {
            this.settling = false;
            if (!this.over && this.active === 0 && this.entering === 0)
                this.decide();
        });
    }
    decide() {
        // A step that is held would go on at once, should a pause be taken back before it comes about.
        if (this.held > 0)
            this.suspend([]);
        else if (this.waits.length > 0)
            this.suspend(this.waits);
    }
    /** Ends the run and gives the instance back: with waits until the first of them ends, without to go on at once. */
    suspend(waits) {
        this.stop("suspended");
        this.ending("the run could not suspend; its lease runs out", () => this.store.suspend(this.instance.id, this.instance.fence, waits));
    }
    renew() {
        return this.store.renew(this.instance.id, this.instance.fence);
    }
    /** Ends the instance. */
    finish(end, size) {
        return this.store.finish(this.instance.id, this.instance.fence, end, size);
    }
    /** Gives the instance to whoever runs it next. */
    handBack() {
        this.ending("the instance could not be handed over; its lease runs out", () => this.store.suspend(this.instance.id, this.instance.fence, []));
        return this.endWrites();
    }
    /** Makes one of the last writes after those before it: once the instance is given back, a warning finds it no more. */
    ending(complaint, write) {
        const before = this.endWrites();
        this.endings.push(before.then(() => this.write(write)).then(() => undefined, (error) => this.log.warn(complaint, { error: String(error) })));
    }
    /** When the writes that end the run are through. */
    async endWrites() {
        await Promise.all(this.endings);
    }
    /** Lets no step begin or be stored any more; what executes is cancelled unless the run suspends. */
    stop(how) {
        if (this.over)
            return;
        this.over = true;
        if (how !== "finished")
            this.end = how;
        const cause = how === "finished" ? undefined : CAUSES[how];
        if (cause !== undefined)
            this.cancelled.happen(new Error(cause));
        this.finishEnded();
    }
    /** Takes the answer to a fenced write; throws OVER where the instance is lost. */
    heard(ack) {
        if (!ack.ok) {
            this.stop("lost");
            throw OVER;
        }
        if (ack.pause)
            this.pausing = true;
    }
    /** Makes a fenced write and repeats it while the database is not reached, for as long as the lease can last. */
    write(call) {
        return persist(call, LEASE_MS);
    }
    /**
     * Writes a step that is done, unless the run is over. One that only hands its instance over has it still: what is
     * done is stored. Tells whether the database did not know before that the step is done.
     */
    async commit(step, size, event) {
        if (this.over && this.end !== "suspended" && this.end !== "shutdown")
            throw OVER;
        const write = { instance: this.instance, step, size, finishedAt: DateTime.at(this.now()), ...(event !== undefined && { event }) };
        const ack = await this.storing(step, () => this.store.commit(write));
        this.heard(ack);
        this.stepped = true;
        return !ack.repeated;
    }
    /** Writes a step that is not done yet. */
    async begin(step) {
        this.heard(await this.storing(step, () => this.store.begin({ instance: this.instance, step, size: 0 })));
    }
    /**
     * The answer to a step's write, or OVER: because the database was not reached, does not let this process in, or lacks
     * the schema; or because it refuses the step itself, which it would do again in every run.
     */
    async storing(step, call) {
        try {
            return await this.write(call);
        }
        catch (error) {
            const facts = { step: step.name, error: String(error) };
            if (!(error instanceof DatabaseError) || unreachable(error) || error.auth || error.notFound) {
                this.log.warn("a step could not be stored; another run will come to it again", facts);
                this.stop("lost");
            }
            else {
                this.log.error("the database refuses a step; the instance ends as errored", facts);
                this.fault ??= new Error(`store step ${JSON.stringify(step.name)}: ${error.message}`);
                this.stop("refused");
            }
            throw OVER;
        }
    }
    /** Takes the oldest event of a type out of those that no step has consumed. */
    takeEvent(type, deadline) {
        const at = this.events.findIndex((event) => event.type === type && event.sent_at.ms <= deadline.ms);
        return at < 0 ? undefined : this.events.splice(at, 1)[0];
    }
    /**
     * Notices when a new step runs although stored steps have not been reached: the code has changed under the instance,
     * or depends on something that no step keeps. While others run or wait beside it nobody can tell; then the end looks.
     */
    async checkOrder(key) {
        this.entering++;
        await turn(); // the code may call the others in the same breath
        this.entering--;
        if (this.over || this.warning || this.history.allReached)
            return;
        if (this.active + this.entering + this.held + this.waits.length > 0)
            return;
        const unreached = this.history.unreached();
        const message = `step ${JSON.stringify(key.name)} ran although stored steps were not reached before it: [${unreached.join(" ")}]`;
        this.warn({ code: "nondeterminism", unreached, instead: key.name, message });
    }
    /** Notes at the end of the workflow that stored steps were not reached. Tells whether that stops the run. */
    checkEnd() {
        if (this.warning || this.history.allReached)
            return false;
        const unreached = this.history.unreached();
        const message = `the workflow ended although stored steps were not reached: [${unreached.join(" ")}]`;
        const warning = { code: "nondeterminism", unreached, message };
        if (this.options.strict) {
            this.warn(warning);
            return true;
        }
        this.warning = warning; // travels with the end
        this.log.warn("nondeterminism", { unreached });
        return false;
    }
    warn(warning) {
        const { strict } = this.options;
        this.warning = warning;
        this.log.warn("nondeterminism", { step: warning.instead, unreached: warning.unreached, strict });
        if (strict)
            this.stop("stalled");
        this.ending("the warning could not be stored", () => this.store.warn(this.instance.id, this.instance.fence, warning, strict));
    }
}
/** Calls the database again and again while it is not reached, for so long. */
export async function persist(call, forMs) {
    const until = performance.now() + forMs;
    for (;;) {
        try {
            return await call();
        }
        catch (error) {
            if (!unreachable(error) || performance.now() > until)
                throw error;
        }
        await new Promise((resolve) => setTimeout(resolve, RETRY_PAUSE_MS));
    }
}
function withFacts(log, facts) {
    return {
        debug: (message, more) => log.debug(message, { ...facts, ...more }),
        info: (message, more) => log.info(message, { ...facts, ...more }),
        warn: (message, more) => log.warn(message, { ...facts, ...more }),
        error: (message, more) => log.error(message, { ...facts, ...more }),
    };
}
