/**
 * Makes the calls of all runs of a process, those that wait at the moment in one transaction, for a transaction costs as
 * much as the work of several calls. One that comes alone goes alone and at once: nothing waits for company. One group is
 * under way at a time, two where many calls wait. Each call has its own answer.
 */
export declare class Group<Call, Answer> {
    private readonly send;
    private waiting;
    private flying;
    constructor(send: (calls: Call[]) => Promise<Answer[]>);
    /** Makes a call of about so many bytes. */
    do(call: Call, size: number): Promise<Answer>;
    /** How many groups may be under way at the moment. */
    private most;
    private drain;
    private batch;
    private deliver;
}
