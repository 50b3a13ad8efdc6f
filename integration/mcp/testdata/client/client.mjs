// An MCP client made of the TypeScript SDK, driven by lines of JSON on standard input: {id, do, …} is
// answered with {id, ok} or {id, error}; {updated: uri} comes whenever the server says so.
//
//   node client.mjs stdio COMMAND ARG…
//   node client.mjs http URL [TOKEN]
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";

const [kind, target, ...rest] = process.argv.slice(2);

function transport() {
  if (kind === "stdio") {
    return new StdioClientTransport({ command: target, args: rest, env: process.env, stderr: "inherit" });
  }
  const headers = rest[0] ? { Authorization: `Bearer ${rest[0]}` } : {};
  return new StreamableHTTPClientTransport(new URL(target), { requestInit: { headers } });
}

function say(message) {
  process.stdout.write(JSON.stringify(message) + "\n");
}

const client = new Client({ name: "spky-tests", version: "1.0.0" });
client.setNotificationHandler(ResourceUpdatedNotificationSchema, (n) => say({ updated: n.params.uri }));

// Once the tools are listed, the SDK holds every structured answer against its output schema.
const actions = {
  connect: async () => {
    await client.connect(transport());
    return { server: client.getServerVersion(), capabilities: client.getServerCapabilities(), instructions: client.getInstructions() };
  },
  tools: async () => (await client.listTools()).tools,
  call: async ({ name, args }) => client.callTool({ name, arguments: args ?? {} }),
  templates: async () => (await client.listResourceTemplates()).resourceTemplates,
  read: async ({ uri }) => (await client.readResource({ uri })).contents,
  subscribe: async ({ uri }) => client.subscribeResource({ uri }),
  unsubscribe: async ({ uri }) => client.unsubscribeResource({ uri }),
  prompts: async () => (await client.listPrompts()).prompts,
  prompt: async ({ name, args }) => (await client.getPrompt({ name, arguments: args })).messages,
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, do: action, ...args } = JSON.parse(line);
  actions[action](args).then(
    (ok) => say({ id, ok: ok ?? null }),
    (error) => say({ id, error: `${error.constructor.name}: ${error.message}` }),
  );
}
await client.close();
