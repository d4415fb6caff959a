/** The strict checks of a chat completions request. */
import {
  CallLedger,
  checkTools,
  checkTopLevel,
  fields,
  list,
  onlyKeys,
  refuse,
  text,
  toolName,
  type Fields,
  type StrictOptions,
} from './strict-checks.js';

/** @throws {Refusal} */
export function checkChatCompletions(body: Fields, options: StrictOptions): void {
  checkTopLevel(body, 'chat-completions');
  const streamOptions = fields(body['stream_options'], 'stream_options');
  refuse(streamOptions['include_usage'] !== true, 'stream_options.include_usage must be true');
  if (body['tools'] !== undefined) {
    const tools = list(body['tools'], 'tools').map((tool, place) => {
      const at = `tools.${String(place)}`;
      const { type, function: definition } = fields(tool, at);
      refuse(type !== 'function', `${at}.type must be function`);
      return fields(definition, `${at}.function`);
    });
    checkTools(tools, 'parameters');
  }
  checkMessages(list(body['messages'], 'messages'), options);
}

function checkMessages(messages: readonly unknown[], options: StrictOptions): void {
  const ledger = new CallLedger();
  let last = '';
  messages.forEach((value, place) => {
    const at = `messages.${String(place)}`;
    const message = fields(value, at);
    const role = text(message['role'], `${at}.role`);
    if (role !== 'tool') ledger.settled(at);
    switch (role) {
      case 'system':
        onlyKeys(message, ['role', 'content'], at);
        refuse(place !== 0, `${at}: system must be the first message`);
        text(message['content'], `${at}.content`);
        break;
      case 'user':
        onlyKeys(message, ['role', 'content'], at);
        checkUserContent(message['content'], `${at}.content`);
        break;
      case 'assistant':
        refuse(
          last === '' || last === 'system' || last === 'assistant',
          `${at}: an assistant message must answer`,
        );
        checkAssistant(message, at, ledger, options);
        break;
      case 'tool':
        onlyKeys(message, ['role', 'content', 'tool_call_id'], at);
        ledger.result(message['tool_call_id'], `${at}.tool_call_id`);
        text(message['content'], `${at}.content`);
        break;
      default:
        refuse(true, `${at}.role is unknown`);
    }
    last = role;
  });
  ledger.settled('messages');
  refuse(last === 'assistant' || last === 'system', 'messages must end with a user or tool message');
}

function checkAssistant(message: Fields, at: string, ledger: CallLedger, options: StrictOptions): void {
  onlyKeys(message, ['role', 'content', 'tool_calls', 'reasoning_content'], at);
  const { content, tool_calls: calls, reasoning_content: reasoning } = message;
  refuse(typeof content !== 'string', `${at}.content must be a text`);
  refuse(content === '' && calls === undefined, `${at} has neither content nor tool_calls`);
  refuse(reasoning !== undefined && typeof reasoning !== 'string', `${at}.reasoning_content must be a text`);
  if (calls === undefined) return;
  refuse(
    options.thinking === true && reasoning === undefined,
    `${at}: The reasoning_content in the thinking mode must be passed back to the API.`,
  );
  list(calls, `${at}.tool_calls`).forEach((value, place) => {
    const here = `${at}.tool_calls.${String(place)}`;
    const call = fields(value, here);
    onlyKeys(call, ['id', 'type', 'function'], here);
    refuse(call['type'] !== 'function', `${here}.type must be function`);
    ledger.call(call['id'], `${here}.id`);
    const called = fields(call['function'], `${here}.function`);
    onlyKeys(called, ['name', 'arguments'], `${here}.function`);
    toolName(called['name'], `${here}.function.name`);
    checkArguments(called['arguments'], `${here}.function.arguments`);
  });
}

function checkArguments(value: unknown, at: string): void {
  const raw = text(value, at);
  try {
    fields(JSON.parse(raw), at);
  } catch {
    refuse(true, `${at} must be the JSON of an object`);
  }
}

function checkUserContent(content: unknown, at: string): void {
  if (typeof content === 'string') {
    text(content, at);
    return;
  }
  list(content, at).forEach((value, place) => {
    const here = `${at}.${String(place)}`;
    const part = fields(value, here);
    switch (part['type']) {
      case 'text':
        onlyKeys(part, ['type', 'text'], here);
        text(part['text'], `${here}.text`);
        break;
      case 'image_url':
        onlyKeys(part, ['type', 'image_url'], here);
        refuse(
          !/^data:image\/[a-z]+;base64,[A-Za-z0-9+/]+=*$/.test(
            text(fields(part['image_url'], here)['url'], `${here}.image_url.url`),
          ),
          `${here}.image_url.url is no image`,
        );
        break;
      case 'file':
        onlyKeys(part, ['type', 'file'], here);
        text(fields(part['file'], here)['file_data'], `${here}.file.file_data`);
        break;
      default:
        refuse(true, `${here}.type is unknown`);
    }
  });
}
