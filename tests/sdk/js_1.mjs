// The official JavaScript client (@a2a-js/sdk 1.x) as a user would use it: node js_1.mjs URL BINDING TOKEN
//
// BINDING is JSONRPC, HTTP+JSON or GRPC. Runs from a folder where the package is installed, and ends with 0 where
// everything is as it should be.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const here = createRequire(`${process.cwd()}/`);
const load = (name) => import(pathToFileURL(here.resolve(name)));
const { Role, TaskState } = await load('@a2a-js/sdk');
const { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } = await load('@a2a-js/sdk/client');
const { GrpcTransportFactory } = await load('@a2a-js/sdk/client/grpc');

const [url, binding, token] = process.argv.slice(2);
const credential = {
  async before(args) {
    args.options = { ...args.options, serviceParameters: { authorization: `Bearer ${token}` } };
  },
  async after() {},
};
const transports = {
  JSONRPC: () => new JsonRpcTransportFactory(),
  'HTTP+JSON': () => new RestTransportFactory(),
  GRPC: () => new GrpcTransportFactory(),
};
const factory = new ClientFactory({
  transports: [transports[binding]()],
  clientConfig: { interceptors: [credential] },
});
const client = await factory.createFromUrl(url);

function request(text, { task, returnImmediately = false } = {}) {
  const message = {
    messageId: randomUUID(),
    role: Role.ROLE_USER,
    parts: [{ content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: '' }],
    taskId: task?.id ?? '',
    contextId: task?.contextId ?? '',
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
  const configuration = { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately };
  return { tenant: '', message, configuration, metadata: undefined };
}

const named = (task) => ({ tenant: '', id: task.id });
const send = (text, options) => client.sendMessage(request(text, options));
const state = (task) => TaskState[task.status.state];
const texts = (task) =>
  task.artifacts.map((artifact) => artifact.parts.map((part) => part.content?.value ?? '').join(''));

// A task as a client puts it together from a stream.
function folded(events) {
  let task;
  for (const { payload } of events) {
    if (payload.$case === 'task') {
      task = structuredClone(payload.value);
    } else if (payload.$case === 'statusUpdate') {
      task.status = payload.value.status;
    } else if (payload.$case === 'artifactUpdate') {
      const { artifact, append } = payload.value;
      const known = task.artifacts.find((one) => one.artifactId === artifact.artifactId);
      if (known && append) known.parts.push(...artifact.parts);
      else if (known) Object.assign(known, structuredClone(artifact));
      else task.artifacts.push(structuredClone(artifact));
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
    assert.equal(state(task), 'TASK_STATE_COMPLETED');
    assert.match(texts(task)[0], /hello/);
    const message = await send('tck-message-response hello');
    assert.equal(message.role, Role.ROLE_AGENT);
  },

  async streams() {
    const events = await all(client.sendMessageStream(request('tck-stream-basic a b c')));
    const task = folded(events);
    assert.equal(state(task), 'TASK_STATE_COMPLETED');
    assert.ok(events.filter(({ payload }) => payload.$case === 'artifactUpdate').length >= 2);
    assert.deepEqual(texts(await client.getTask(named(task))), texts(task));
  },

  async resubscribes() {
    const task = await send('tck-long-running', { returnImmediately: true });
    assert.match(state(task), /SUBMITTED|WORKING/);
    for await (const { payload } of client.resubscribeTask(named(task))) {
      assert.equal(payload.value.id, task.id);
      break;
    }
    const events = await all(client.resubscribeTask(named(task)));
    assert.equal(events[0].payload.$case, 'task');
    const ended = folded(events);
    assert.equal(state(ended), 'TASK_STATE_COMPLETED');
    assert.deepEqual(texts(await client.getTask(named(task))), texts(ended));
    await assert.rejects(all(client.resubscribeTask(named(task))));
  },

  async asks() {
    const task = await send('tck-multi-turn start');
    assert.equal(state(task), 'TASK_STATE_INPUT_REQUIRED');
    const done = await send('done', { task });
    assert.deepEqual([done.id, state(done)], [task.id, 'TASK_STATE_COMPLETED']);
    await assert.rejects(send('too late', { task }));
  },

  async lists() {
    const task = await send('tck-complete-task to be listed');
    const params = { tenant: '', contextId: task.contextId, status: 0, pageToken: '', statusTimestampAfter: undefined };
    const page = await client.listTasks(params);
    assert.deepEqual(page.tasks.map((one) => one.id), [task.id]);
    const whole = await client.listTasks({ ...params, includeArtifacts: true });
    assert.deepEqual(texts(whole.tasks[0]), texts(task));
  },

  async cancels() {
    const task = await send('tck-cancel', { returnImmediately: true });
    const canceled = await client.cancelTask({ ...named(task), metadata: undefined });
    assert.deepEqual([canceled.id, state(canceled)], [task.id, 'TASK_STATE_CANCELED']);
    await assert.rejects(client.cancelTask({ ...named(task), metadata: undefined }));
    await assert.rejects(client.getTask({ tenant: '', id: 'nothing-like-this' }));
  },

  async configuresPush() {
    const task = await send('tck-cancel', { returnImmediately: true });
    const authentication = { scheme: 'Bearer', credentials: 'secret' };
    const wanted = { tenant: '', id: '', taskId: task.id, url: 'https://example.com/hook', token: 'once', authentication };
    const made = await client.createTaskPushNotificationConfig(wanted);
    assert.ok(made.id && made.url === wanted.url);
    const config = { tenant: '', taskId: task.id, id: made.id };
    const read = await client.getTaskPushNotificationConfig(config);
    assert.deepEqual([read.id, read.url, read.authentication?.credentials || ''], [made.id, wanted.url, '']);
    const listing = { tenant: '', taskId: task.id, pageSize: 0, pageToken: '' };
    assert.equal((await client.listTaskPushNotificationConfig(listing)).configs.length, 1);
    await client.deleteTaskPushNotificationConfig(config);
    await client.deleteTaskPushNotificationConfig(config);
    assert.equal((await client.listTaskPushNotificationConfig(listing)).configs.length, 0);
    await client.cancelTask({ ...named(task), metadata: undefined });
  },
};

for (const [name, check] of Object.entries(checks)) {
  await check();
  console.log(`${binding}: ${name}`);
}
process.exit(0);
