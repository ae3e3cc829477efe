// The official JavaScript client that speaks A2A 0.3 (@a2a-js/sdk 0.3.x) as a user would use it: node js_03.mjs URL TRANSPORT TOKEN
//
// TRANSPORT is JSONRPC or HTTP+JSON. Runs from a folder where the package is installed, and ends with 0 where everything is
// as it should be.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const here = createRequire(`${process.cwd()}/`);
const load = (name) => import(pathToFileURL(here.resolve(name)));
const { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } = await load('@a2a-js/sdk/client');

const [url, transport, token] = process.argv.slice(2);
const credential = {
  async before(args) {
    args.options = { ...args.options, serviceParameters: { authorization: `Bearer ${token}` } };
  },
  async after() {},
};
const transports = { JSONRPC: () => new JsonRpcTransportFactory(), 'HTTP+JSON': () => new RestTransportFactory() };
const factory = new ClientFactory({
  transports: [transports[transport]()],
  clientConfig: { interceptors: [credential] },
});
const client = await factory.createFromUrl(url);

function request(text, { task, blocking = true } = {}) {
  const message = { kind: 'message', messageId: randomUUID(), role: 'user', parts: [{ kind: 'text', text }] };
  if (task) Object.assign(message, { taskId: task.id, contextId: task.contextId });
  return { message, configuration: { blocking } };
}

const send = (text, options) => client.sendMessage(request(text, options));
const texts = (task) =>
  (task.artifacts ?? []).map((artifact) => artifact.parts.map((part) => part.text ?? '').join(''));

// A task as a client puts it together from a stream.
function folded(events) {
  let task;
  for (const event of events) {
    if (event.kind === 'task') {
      task = structuredClone(event);
      task.artifacts ??= [];
    } else if (event.kind === 'status-update') {
      task.status = event.status;
    } else if (event.kind === 'artifact-update') {
      const known = task.artifacts.find((one) => one.artifactId === event.artifact.artifactId);
      // This client loses `append` on HTTP+JSON; the agent only ever appends here.
      if (known && (event.append ?? transport === 'HTTP+JSON')) known.parts.push(...event.artifact.parts);
      else if (known) Object.assign(known, structuredClone(event.artifact));
      else task.artifacts.push(structuredClone(event.artifact));
    }
  }
  return task;
}

async function all(stream) {
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
}

const checks = {
  async sends() {
    const task = await send('tck-complete-task hello');
    assert.deepEqual([task.kind, task.status.state], ['task', 'completed']);
    assert.match(texts(task)[0], /hello/);
    const message = await send('tck-message-response hello');
    assert.deepEqual([message.kind, message.role], ['message', 'agent']);
  },

  async streams() {
    const events = await all(client.sendMessageStream(request('tck-stream-basic a b c')));
    const task = folded(events);
    assert.equal(task.status.state, 'completed');
    assert.ok(events.filter((event) => event.kind === 'artifact-update').length >= 2);
    assert.ok(transport !== 'JSONRPC' || events.at(-1).final === true);
    assert.deepEqual(texts(await client.getTask({ id: task.id })), texts(task));
  },

  async resubscribes() {
    const task = await send('tck-long-running', { blocking: false });
    assert.match(task.status.state, /submitted|working/);
    for await (const event of client.resubscribeTask({ id: task.id })) {
      assert.equal(event.id, task.id);
      break;
    }
    const ended = folded(await all(client.resubscribeTask({ id: task.id })));
    assert.equal(ended.status.state, 'completed');
    assert.deepEqual(texts(await client.getTask({ id: task.id })), texts(ended));
  },

  async asks() {
    const task = await send('tck-multi-turn start');
    assert.equal(task.status.state, 'input-required');
    const done = await send('done', { task });
    assert.deepEqual([done.id, done.status.state], [task.id, 'completed']);
    await assert.rejects(send('too late', { task }));
  },

  async cancels() {
    const task = await send('tck-cancel', { blocking: false });
    const canceled = await client.cancelTask({ id: task.id });
    assert.deepEqual([canceled.id, canceled.status.state], [task.id, 'canceled']);
    await assert.rejects(client.cancelTask({ id: task.id }));
    await assert.rejects(client.getTask({ id: 'nothing-like-this' }));
  },

  async configuresPush() {
    const task = await send('tck-cancel', { blocking: false });
    const config = {
      url: 'https://example.com/hook',
      token: 'once',
      authentication: { schemes: ['Bearer'], credentials: 'secret' },
    };
    const made = await client.setTaskPushNotificationConfig({ taskId: task.id, pushNotificationConfig: config });
    assert.equal(made.pushNotificationConfig.url, config.url);
    const params = { id: task.id, pushNotificationConfigId: made.pushNotificationConfig.id };
    const read = await client.getTaskPushNotificationConfig(params);
    assert.equal(read.pushNotificationConfig.url, config.url);
    assert.ok(!read.pushNotificationConfig.authentication?.credentials);
    assert.equal((await client.listTaskPushNotificationConfig({ id: task.id })).length, 1);
    await client.deleteTaskPushNotificationConfig(params);
    assert.equal((await client.listTaskPushNotificationConfig({ id: task.id })).length, 0);
    await client.cancelTask({ id: task.id });
  },
};

for (const [name, check] of Object.entries(checks)) {
  await check();
  console.log(`0.3 ${transport}: ${name}`);
}
process.exit(0);
