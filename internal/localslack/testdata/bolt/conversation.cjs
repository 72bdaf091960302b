// One conversation by Slack's own SDKs against a local workspace. The Go test beside it plays the people:
// it reads what happened from standard output, one JSON object a line, and acts over /_local/.
const { App } = require('@slack/bolt');

const say = (step, data = {}) => process.stdout.write(JSON.stringify({ step, ...data }) + '\n');
const { API_URL, BOT_TOKEN, APP_TOKEN, TEAM_ID } = process.env;

const app = new App({
  token: BOT_TOKEN, appToken: APP_TOKEN, socketMode: true, logLevel: 'error',
  clientOptions: { slackApiUrl: API_URL, retryConfig: { retries: 0 } },
});

app.event('app_mention', async ({ event, client }) => {
  const stream = client.chatStream({ channel: event.channel, thread_ts: event.ts, recipient_team_id: TEAM_ID, recipient_user_id: event.user, buffer_size: 1 });
  await stream.append({ markdown_text: 'Hello ' });
  await stream.append({ markdown_text: '**there**' });
  await stream.stop({ blocks: [{ type: 'context', elements: [{ type: 'mrkdwn', text: 'streamed' }] }] });
  const card = await client.chat.postMessage({
    channel: event.channel, thread_ts: event.ts, text: 'card',
    blocks: [{ type: 'actions', block_id: 'acts', elements: [{ type: 'button', action_id: 'open', value: 'v1', text: { type: 'plain_text', text: 'Open' } }] }],
  });
  const upload = await client.files.uploadV2({ channel_id: event.channel, thread_ts: event.ts, filename: 'n.md', content: '# hi', initial_comment: 'a file' });
  say('mentioned', { ts: event.ts, card: card.ts, file: upload.files[0].files[0].id });
});

app.action('open', async ({ ack, body, action, client }) => {
  await ack();
  const opened = await client.views.open({ trigger_id: body.trigger_id, view: {
    type: 'modal', callback_id: 'form', title: { type: 'plain_text', text: 'Form' }, submit: { type: 'plain_text', text: 'Save' },
    blocks: [{ type: 'input', block_id: 'name', label: { type: 'plain_text', text: 'Name' }, element: { type: 'plain_text_input', action_id: 'v' } }],
  } });
  say('opened', { view: opened.view.id, value: action.value });
});

app.view('form', async ({ ack, view }) => {
  const name = view.state.values.name.v.value;
  if (name.length < 3) await ack({ response_action: 'errors', errors: { name: 'too short' } });
  else await ack();
  say('submitted', { name });
});

app.command('/mecha', async ({ ack, command, respond }) => {
  await ack();
  await respond({ text: `you said ${command.text}` });
  say('commanded', { text: command.text });
});

app.message('again', async ({ message }) => say('again', { ts: message.ts }));

app.message('fetch this', async ({ message, client }) => {
  const file = message.files[0];
  const got = await fetch(file.url_private_download, { headers: { Authorization: `Bearer ${BOT_TOKEN}` } });
  const denied = await fetch(file.url_private_download); // without a token: a page to sign in, and HTTP 200
  const info = await client.files.info({ file: file.id });
  say('fetched', { text: await got.text(), denied: (await denied.text()).includes('<html'), size: info.file.size });
});

app.message('list all', async ({ message, client }) => {
  const seen = [];
  for await (const page of client.paginate('conversations.list', { limit: 1 })) seen.push(...page.channels.map((c) => c.name));
  const later = await client.chat.scheduleMessage({ channel: message.channel, text: 'later', post_at: Math.floor(Date.now() / 1000) + 3600 });
  const listed = await client.chat.scheduledMessages.list({ channel: message.channel });
  await client.chat.deleteScheduledMessage({ channel: message.channel, scheduled_message_id: later.scheduled_message_id });
  await client.pins.add({ channel: message.channel, timestamp: message.ts });
  await client.reactions.add({ channel: message.channel, timestamp: message.ts, name: 'eyes' });
  const group = await client.conversations.open({ users: process.env.PEOPLE });
  let refused = '';
  try { await client.chat.postMessage({ channel: 'C0NOTHERE', text: 'x' }); } catch (e) { refused = e.data.error; }
  say('listed', { seen, scheduled: listed.scheduled_messages.length, group: group.channel.id, refused });
});

app.options('city', async ({ ack, payload }) => {
  await ack({ options: [{ text: { type: 'plain_text', text: `${payload.value}!` }, value: 'v' }] });
});

app.shortcut('ask', async ({ ack, shortcut }) => {
  await ack();
  say('shortcut', { type: shortcut.type, text: shortcut.message.text });
});

app.event('app_home_opened', async ({ event, client }) => {
  await client.views.publish({ user_id: event.user, view: { type: 'home', blocks: [{ type: 'section', block_id: 's', text: { type: 'mrkdwn', text: '*Home*' },
    accessory: { type: 'external_select', action_id: 'city', min_query_length: 1, placeholder: { type: 'plain_text', text: 'City' } } }] } });
  say('home', { tab: event.tab });
});

app.event('agent_session_stopped', async ({ event }) => say('stopped', { thread: event.thread_ts }));

app.error(async (error) => { say('error', { message: String(error && error.stack || error) }); });

(async () => {
  await app.start();
  say('started');
})().catch((error) => { say('error', { message: String(error.stack) }); process.exit(1); });

process.stdin.on('end', () => app.stop().then(() => process.exit(0)));
process.stdin.resume();
