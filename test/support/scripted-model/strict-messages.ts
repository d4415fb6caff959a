/** The strict checks of a Messages request. */
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
export function checkMessagesRequest(body: Fields, options: StrictOptions): void {
  checkTopLevel(body, 'messages');
  if (body['system'] !== undefined) text(body['system'], 'system');
  if (body['tools'] !== undefined) {
    const tools = list(body['tools'], 'tools').map((tool, place) => fields(tool, `tools.${String(place)}`));
    checkTools(tools, 'input_schema');
  }
  const ledger = new CallLedger();
  let last = 'assistant';
  list(body['messages'], 'messages').forEach((value, place) => {
    const at = `messages.${String(place)}`;
    const message = fields(value, at);
    onlyKeys(message, ['role', 'content'], at);
    const role = text(message['role'], `${at}.role`);
    refuse(role !== 'user' && role !== 'assistant', `${at}.role is unknown`);
    refuse(role === last, `${at}: roles must alternate, beginning with user`);
    const blocks = list(message['content'], `${at}.content`).map((block, index) =>
      fields(block, `${at}.content.${String(index)}`),
    );
    if (role === 'user') checkUser(blocks, at, ledger);
    else checkAssistant(blocks, at, ledger, options);
    last = role;
  });
  refuse(last === 'assistant', 'messages must end with a user message');
}

function checkUser(blocks: readonly Fields[], at: string, ledger: CallLedger): void {
  let other = false;
  blocks.forEach((block, index) => {
    const here = `${at}.content.${String(index)}`;
    if (block['type'] !== 'tool_result') {
      other = true;
      checkInput(block, here);
      return;
    }
    refuse(other, `${here}: tool_result blocks must come first`);
    onlyKeys(block, ['type', 'tool_use_id', 'content', 'is_error'], here);
    ledger.result(block['tool_use_id'], `${here}.tool_use_id`);
    const { content, is_error: isError } = block;
    refuse(isError !== undefined && typeof isError !== 'boolean', `${here}.is_error must be a boolean`);
    if (typeof content === 'string') text(content, `${here}.content`);
    else {
      list(content, `${here}.content`).forEach((part) => {
        checkInput(fields(part, here), `${here}.content`);
      });
    }
  });
  ledger.settled(at);
}

function checkInput(block: Fields, at: string): void {
  switch (block['type']) {
    case 'text':
      onlyKeys(block, ['type', 'text'], at);
      text(block['text'], `${at}.text`);
      break;
    case 'image':
    case 'document': {
      onlyKeys(block, ['type', 'source', 'title'], at);
      const source = fields(block['source'], `${at}.source`);
      onlyKeys(source, ['type', 'media_type', 'data'], `${at}.source`);
      refuse(source['type'] !== 'base64', `${at}.source.type must be base64`);
      text(source['media_type'], `${at}.source.media_type`);
      refuse(
        !/^[A-Za-z0-9+/]+=*$/.test(text(source['data'], `${at}.source.data`)),
        `${at}.source.data is no base64`,
      );
      break;
    }
    default:
      refuse(true, `${at}.type is unknown`);
  }
}

function checkAssistant(
  blocks: readonly Fields[],
  at: string,
  ledger: CallLedger,
  options: StrictOptions,
): void {
  let thinking = false;
  blocks.forEach((block, index) => {
    const here = `${at}.content.${String(index)}`;
    switch (block['type']) {
      case 'text':
        onlyKeys(block, ['type', 'text'], here);
        text(block['text'], `${here}.text`);
        break;
      case 'thinking':
        onlyKeys(block, ['type', 'thinking', 'signature'], here);
        refuse(typeof block['thinking'] !== 'string', `${here}.thinking must be a text`);
        refuse(typeof block['signature'] !== 'string', `${here}.signature must be a text`);
        thinking = true;
        break;
      case 'redacted_thinking':
        onlyKeys(block, ['type', 'data'], here);
        text(block['data'], `${here}.data`);
        thinking = true;
        break;
      case 'tool_use':
        onlyKeys(block, ['type', 'id', 'name', 'input'], here);
        refuse(
          options.thinking === true && !thinking,
          `${here}: The content[].thinking in the thinking mode must be passed back to the API.`,
        );
        ledger.call(block['id'], `${here}.id`);
        toolName(block['name'], `${here}.name`);
        fields(block['input'], `${here}.input`);
        break;
      default:
        refuse(true, `${here}.type is unknown`);
    }
  });
}
