import assert from "node:assert/strict";
import { test } from "node:test";
import { Queue } from "../src/queue.js";

test("places in a queue come one after the other, also where one is left before its turn", async () => {
	const queue = new Queue();
	const [first, second, third] = [queue.enter(), queue.enter(), queue.enter()];
	assert.equal(await first.within(60_000), true);
	second.leave();
	assert.equal(await third.within(1), false);
	first.leave();
	assert.equal(await third.within(60_000), true);
	assert.equal(await queue.enter().within(1), false);
});
