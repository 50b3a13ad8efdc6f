/** Refuses the name of a step that can't be one: over 256 characters, or with control characters in it. */
export declare function checkStepName(name: string): void;
export declare function isInstanceId(id: unknown): id is string;
export declare function checkInstanceId(id: string): void;
export declare function isEventType(type: unknown): type is string;
/** What an event's type has to look like, for messages. */
export declare const eventTypeForm = "1 to 100 letters, digits, _ and -, not starting with -";
/** Refuses a binding of another form than the routes have. */
export declare function checkBinding(binding: string): void;
export declare function checkTable(table: string): void;
