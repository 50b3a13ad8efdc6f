/** Hears of a promise that was rejected while nobody waited for it. */
type Tell = (reason: unknown) => void;
/**
 * Runs a workflow's code. Code that begins two branches and awaits one after the other leaves a promise rejected for a
 * while when the second fails first. Node.js would end the process over it, with all that runs there, and again in each
 * further run of that instance, since the step fails again; tell hears of it instead. Rejections of everything else end
 * the process as they do without this package.
 */
export declare function guarded<T>(tell: Tell, code: () => T): T;
export {};
