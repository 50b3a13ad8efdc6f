/**
 * The milliseconds of a duration as people write it: "30 seconds", "5s", "1 min", "1 hour 30 minutes", "1 month" (30
 * days), "1 year" (365 days). Anything else is an error, a bare number too, since nobody can tell its unit.
 */
export declare function parseDuration(text: string): number;
/** The milliseconds of a number, which are milliseconds, or of a text. */
export declare function milliseconds(value: unknown, what: string): number;
