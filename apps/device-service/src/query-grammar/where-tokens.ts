import { illegalArgument } from '@gatehouse/errors';

export interface WhereToken {
  readonly kind: 'word' | 'quoted' | 'symbol' | 'open' | 'close' | 'comma' | 'end';
  /** Without quotes and escapes. */
  readonly text: string;
  /** Position of the first character, counted from 1. */
  readonly position: number;
}

const TOKEN =
  /(?<space>\s+)|(?<open>\()|(?<close>\))|(?<symbol>!=|>=|<=|=|>|<)|(?<quoted>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")|(?<word>[^\s()]+)/gsuy;
const COLUMN = /^[^\s()=!<>]+/u;

/**
 * Splits a where text into tokens. A word ends at a space or parenthesis, so that `%a=b%` is one
 * value. A column name also ends at an operator (`state=online`).
 */
export function createWhereReader(text: string) {
  let position = 0;
  let ahead: { readonly token: WhereToken; readonly next: number } | undefined;

  function peek(): WhereToken {
    ahead ??= read();
    return ahead.token;
  }

  function take(): WhereToken {
    const token = peek();
    position = ahead?.next ?? position;
    ahead = undefined;
    return token;
  }

  /** Takes the next token, up to an operator. */
  function takeColumn(): WhereToken {
    const token = peek();
    const name = token.kind === 'word' ? COLUMN.exec(token.text)?.[0] : undefined;
    if (name === undefined) {
      return take();
    }
    position = token.position - 1 + name.length;
    ahead = undefined;
    return { ...token, text: name };
  }

  function read(): { readonly token: WhereToken; readonly next: number } {
    TOKEN.lastIndex = position;
    const match = TOKEN.exec(text);
    if (match?.groups?.space !== undefined) {
      position = TOKEN.lastIndex;
      return read();
    }
    const [kind, written] =
      Object.entries(match?.groups ?? {}).find(([, group]) => group !== undefined) ?? [];
    const token: WhereToken =
      written === undefined
        ? { kind: 'end', text: '', position: position + 1 }
        : { kind: kind as WhereToken['kind'], text: written, position: position + 1 };
    if (token.kind === 'word' && /^['"]/.test(token.text)) {
      throw whereErrorAt(token, 'a quote is not closed');
    }
    const unquoted = token.kind === 'quoted' ? { ...token, text: unquote(token.text) } : token;
    return { token: unquoted, next: position + (written?.length ?? 0) };
  }

  return { peek, take, takeColumn };
}

export type WhereReader = ReturnType<typeof createWhereReader>;

export function whereErrorAt({ position }: WhereToken, message: string) {
  return illegalArgument([{ property: 'where', message: `at character ${position}: ${message}` }]);
}

/** `''` is an escaped quote. Other backslashes stay, because patterns use them. */
function unquote(quoted: string): string {
  const quote = quoted.charAt(0);
  return quoted.slice(1, -1).replaceAll(`${quote}${quote}`, quote).replaceAll(`\\${quote}`, quote);
}
