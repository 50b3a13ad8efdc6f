import { unreachable } from "./dberror.js";
import { later } from "./platform.js";
/** Most calls that travel as one, and most bytes of them. */
const MOST = { calls: 64, bytes: 1 << 20 };
/** Where so many calls wait, a second group goes beside the one under way: both are large, and the database works on them at once. */
const MANY = 20;
/** A group that is slow holds the others up for so long only, until as many are under way as may be. */
const SLOW_MS = 100;
const UNDER_WAY = 4;
/**
 * Makes the calls of all runs of a process, those that wait at the moment in one transaction, for a transaction costs as
 * much as the work of several calls. One that comes alone goes alone and at once: nothing waits for company. One group is
 * under way at a time, two where many calls wait, more beside those that are slow. Each call has its own answer.
 */
export class Group {
    send;
    waiting = [];
    flying = 0;
    slow = 0; // of those under way, how many hold nobody up any more
    constructor(send) {
        this.send = send;
    }
    /** Makes a call of about so many bytes. */
    do(call, size) {
        return new Promise((resolve, reject) => {
            this.waiting.push({ call, size, resolve, reject });
            this.lead();
        });
    }
    /** Sends what waits, unless as many groups as may be are under way. */
    lead() {
        if (this.waiting.length > 0 && this.flying < this.most())
            void this.drain();
    }
    /** How many groups may be under way at the moment. */
    most() {
        return Math.min(1 + this.slow + (this.waiting.length >= MANY ? 1 : 0), UNDER_WAY);
    }
    async drain() {
        this.flying++;
        await Promise.resolve(); // what is called in the same breath goes along
        while (this.waiting.length > 0 && this.flying <= this.most())
            await this.watched(this.batch());
        this.flying--;
    }
    /** Delivers a batch, and lets others pass it once it is slow. */
    async watched(batch) {
        let slow = 0;
        const quick = later(SLOW_MS, () => {
            slow = 1;
            this.slow++;
            this.lead();
        });
        await this.deliver(batch);
        quick();
        this.slow -= slow;
    }
    batch() {
        let count = 0;
        let bytes = 0;
        for (const one of this.waiting) {
            bytes += one.size;
            if (count === MOST.calls || (count > 0 && bytes > MOST.bytes))
                break;
            count++;
        }
        return this.waiting.splice(0, count);
    }
    async deliver(batch) {
        try {
            const answers = await this.send(batch.map((one) => one.call));
            batch.forEach((one, i) => one.resolve(answers[i]));
        }
        catch (error) {
            if (batch.length === 1 || unreachable(error))
                return batch.forEach((one) => one.reject(error));
            for (const one of batch)
                await this.deliver([one]); // one that is refused must not take the others down
        }
    }
}
