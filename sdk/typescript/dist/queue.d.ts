/** Lets one after the other do something; on workerd everybody at once, for there a request can't wait for another's end. */
export declare class Queue {
    private last;
    /** Takes a place at the end. Whoever has it leaves it, whether or not his turn has come. */
    enter(): Turn;
}
/** A place in a queue. */
export declare class Turn {
    private readonly before;
    readonly leave: () => void;
    constructor(before: Promise<void>, leave: () => void);
    /** Waits for so many milliseconds at the most; true when it is this one's turn. */
    within(ms: number): Promise<boolean>;
}
