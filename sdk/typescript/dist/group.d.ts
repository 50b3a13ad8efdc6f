/**
 * Makes the calls of all runs of a process, those that wait at the moment in one transaction, for a transaction costs as
 * much as the work of several calls. One that comes alone goes alone and at once: nothing waits for company. One group is
 * under way at a time, two where many calls wait, more beside those that are slow. Each call has its own answer.
 */
export declare class Group<Call, Answer> {
    private readonly send;
    private waiting;
    private flying;
    private slow;
    constructor(send: (calls: Call[]) => Promise<Answer[]>);
    /** Makes a call of about so many bytes. */
    do(call: Call, size: number): Promise<Answer>;
    /** Sends what waits, unless as many groups as may be are under way. */
    private lead;
    /** How many groups may be under way at the moment. */
    private most;
    private drain;
    /** Delivers a batch, and lets others pass it once it is slow. */
    private watched;
    private batch;
    private deliver;
}
