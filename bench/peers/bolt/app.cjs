// The same conversation as mecha-slack's, served by a minimal Bolt app: a message is answered by a
// streaming model; "write FILE with TEXT" asks on a card first, and writes when Approve is pressed.
// It keeps nothing: what was asked before a crash, or pressed twice, is its user's problem.
const { App } = require('@slack/bolt');
const fs = require('node:fs');
const path = require('node:path');

const { API_URL, BOT_TOKEN, APP_TOKEN, TEAM_ID, MODEL_URL, WORK } = process.env;
const app = new App({
  token: BOT_TOKEN, appToken: APP_TOKEN, socketMode: true, logLevel: 'error',
  clientOptions: { slackApiUrl: API_URL },
});

// ask yields the pieces of a model's answer, and at last its tool call, if it made one.
async function* ask(text) {
  const res = await fetch(`${MODEL_URL}/chat/completions`, {
    method: 'POST', headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'peer', stream: true, messages: [{ role: 'user', content: text }] }),
  });
  let rest = '';
  for await (const bytes of res.body.pipeThrough(new TextDecoderStream())) {
    rest += bytes;
    for (let at; (at = rest.indexOf('\n\n')) >= 0; rest = rest.slice(at + 2)) {
      const data = rest.slice(0, at).replace(/^data: /, '');
      if (data === '[DONE]') return;
      const delta = JSON.parse(data).choices[0].delta;
      if (delta.content) yield { text: delta.content };
      if (delta.tool_calls) yield { call: JSON.parse(delta.tool_calls[0].function.arguments) };
    }
  }
}

app.message(async ({ message, client }) => {
  const thread = { channel: message.channel, thread_ts: message.thread_ts || message.ts };
  let stream;
  for await (const piece of ask(message.text)) {
    if (piece.call) {
      await client.chat.postMessage({
        ...thread, text: `fs_write ${piece.call.path}`,
        blocks: [
          { type: 'section', text: { type: 'plain_text', text: `fs_write\npath: ${piece.call.path}\ncontent: ${piece.call.content}` } },
          { type: 'actions', elements: [{ type: 'button', action_id: 'approve', style: 'primary', value: JSON.stringify(piece.call), text: { type: 'plain_text', text: 'Approve' } }] },
        ],
      });
      continue;
    }
    stream ??= client.chatStream({ ...thread, recipient_team_id: TEAM_ID, recipient_user_id: message.user });
    await stream.append({ markdown_text: piece.text });
  }
  if (stream) await stream.stop();
});

app.action('approve', async ({ ack, action, body, client }) => {
  await ack();
  const call = JSON.parse(action.value);
  fs.writeFileSync(path.join(WORK, path.basename(call.path)), call.content);
  await client.chat.update({ channel: body.channel.id, ts: body.message.ts, text: 'Approved', blocks: [{ type: 'section', text: { type: 'plain_text', text: `✓ Approved: ${call.path}` } }] });
  await client.chat.postMessage({ channel: body.channel.id, thread_ts: body.message.thread_ts, text: 'Done.' });
});

app.error(async (error) => { console.error(error); });
app.start().catch((error) => { console.error(error); process.exit(1); });
