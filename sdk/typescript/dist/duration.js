import { WorkflowFatalError } from "./errors.js";
const PART = /^\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]+)\s*((?:,|and\s)\s*)?/;
const DAY = 86_400_000;
/** How long one of a unit is, in milliseconds; a month is 30 days, a year 365. */
const UNITS = {
    ms: 1, millisecond: 1, milliseconds: 1,
    s: 1000, sec: 1000, secs: 1000, second: 1000, seconds: 1000,
    m: 60_000, min: 60_000, mins: 60_000, minute: 60_000, minutes: 60_000,
    h: 3_600_000, hr: 3_600_000, hrs: 3_600_000, hour: 3_600_000, hours: 3_600_000,
    d: DAY, day: DAY, days: DAY,
    w: 7 * DAY, week: 7 * DAY, weeks: 7 * DAY,
    month: 30 * DAY, months: 30 * DAY,
    y: 365 * DAY, year: 365 * DAY, years: 365 * DAY,
};
/** As much as every SDK can keep: half of 2^63 nanoseconds. */
const MOST = 2 ** 62 / 1e6;
function refuse(text, why) {
    throw new WorkflowFatalError("config", `duration ${JSON.stringify(text)}: ${why}`);
}
/**
 * The milliseconds of a duration as people write it: "30 seconds", "5s", "1 min", "1 hour 30 minutes", "1 month" (30
 * days), "1 year" (365 days). Anything else is an error, a bare number too, since nobody can tell its unit.
 */
export function parseDuration(text) {
    if (text.trim() === "")
        refuse(text, 'is empty; write for instance "30 seconds"');
    let rest = text;
    let total = 0;
    while (rest.trim() !== "") {
        const part = PART.exec(rest);
        if (!part)
            refuse(text, `${JSON.stringify(rest)} is not a number and a unit; write for instance "30 seconds" or "1 hour 30 minutes"`);
        const [all, count, unit, joint] = part;
        const name = unit.toLowerCase();
        const one = Object.hasOwn(UNITS, name) ? UNITS[name] : undefined;
        if (one === undefined)
            refuse(text, `unknown unit ${JSON.stringify(unit)}; known: ms, second, minute, hour, day, week, month, year`);
        total += Number(count) * one;
        rest = rest.slice(all.length);
        if (joint && rest === "")
            refuse(text, `ends with ${JSON.stringify(joint.trim())}; write for instance "1 hour 30 minutes"`);
    }
    if (total > MOST)
        refuse(text, "is longer than any that can be kept");
    return Math.floor(total);
}
/** The milliseconds of a number, which are milliseconds, or of a text. */
export function milliseconds(value, what) {
    if (typeof value === "string")
        return parseDuration(value);
    if (typeof value !== "number" || !Number.isFinite(value)) {
        throw new WorkflowFatalError("config", `${what} ${String(value)}: want milliseconds or a text such as "30 seconds"`);
    }
    return value;
}
