import { later, onWorkerd } from "./platform.js";
/** Lets one after the other do something; on workerd everybody at once, for there a request can't wait for another's end. */
export class Queue {
    last = Promise.resolve();
    /** Takes a place at the end. Whoever has it leaves it, whether or not his turn has come. */
    enter() {
        const before = onWorkerd ? Promise.resolve() : this.last;
        let leave;
        const left = new Promise((resolve) => {
            leave = resolve;
        });
        this.last = before.then(() => left);
        return new Turn(before, leave);
    }
}
/** A place in a queue. */
export class Turn {
    before;
    leave;
    constructor(before, leave) {
        this.before = before;
        this.leave = leave;
    }
    /** Waits for so many milliseconds at the most; true when it is this one's turn. */
    within(ms) {
        return new Promise((resolve) => {
            const stop = later(ms, () => resolve(false));
            void this.before.then(() => {
                stop();
                resolve(true);
            });
        });
    }
}
