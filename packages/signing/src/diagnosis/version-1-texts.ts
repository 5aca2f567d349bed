import type { SignedPart } from '../version-1-text.ts';
import type { FailedRequest } from './failed-request.ts';
import { jsonSpellings } from './json-spellings.ts';
import { type MistakenText, newlineTexts } from './newline-texts.ts';
import { type ParameterSpelling, spellParameters } from './parameter-spellings.ts';
import type { SigningMistake } from './signing-mistake.ts';

/** Of JSON. The others follow after the other mistakes. */
const COMMON_SPELLINGS = 5;

/** The facts that determine the texts of version 1. */
export interface Version1Request {
  readonly request: FailedRequest;
  readonly part: SignedPart;
  /** The body as text. Empty if absent. */
  readonly body: string;
  readonly right: string;
}

/** The most common texts first. */
export function mistakenTexts(facts: Version1Request): readonly MistakenText[] {
  const texts = facts.part === 'body' ? bodyTexts(facts) : parameterTexts(facts);
  const seen = new Set([facts.right]);
  return texts.filter(({ text }) => !seen.has(text) && seen.add(text));
}

const parameterSpellings: readonly (readonly [
  mistakes: readonly SigningMistake[],
  spelling: ParameterSpelling,
])[] = [
  [['parameters_unsorted'], { order: 'as sent' }],
  [['parameters_not_joined'], { isJoined: false }],
  [['parameters_plus_for_space'], { encoding: 'plus for space' }],
  [['parameters_plus_for_space'], { encoding: 'literal plus' }],
  [['parameters_encoded'], { encoding: 'as sent' }],
  [['parameters_unsorted', 'parameters_not_joined'], { order: 'as sent', isJoined: false }],
  [
    ['parameters_unsorted', 'parameters_encoded'],
    { order: 'as sent', encoding: 'as sent', isJoined: false },
  ],
  [['parameters_unsorted'], { order: 'ignoring case' }],
  [['parameters_encoded'], { encoding: 'percent' }],
  [['parameters_encoded', 'parameters_plus_for_space'], { encoding: 'form' }],
];

function parameterTexts({ request, part, body, right }: Version1Request): readonly MistakenText[] {
  const sent = part === 'query' ? request.query : body;
  const spellings = parameterSpellings.flatMap(([mistakes, spelling]): MistakenText[] => {
    const text = spellParameters(sent, spelling);
    return text === undefined ? [] : [{ mistakes, text }];
  });
  if (part === 'form') {
    const isJson = /^\s*[[{]/.test(body);
    const asSent: SigningMistake = isJson ? 'form_type_on_json' : 'parameters_encoded';
    const again = isJson
      ? jsonSpellings(body).map((text) =>
          mistaken(text, 'form_type_on_json', 'json_serialized_again'),
        )
      : [];
    return [
      mistaken(body, asSent),
      ...spellings,
      mistaken('', 'body_not_signed'),
      mistaken(`${body}\n`, asSent, 'trailing_newline'),
      ...again,
    ];
  }
  const question = `?${sent}`;
  return [
    ...spellings,
    mistaken('', 'query_not_signed'),
    mistaken(request.path + (sent === '' ? '' : question), 'path_included'),
    mistaken(`${right}\n`, 'trailing_newline'),
    mistaken(question, 'query_question_mark'),
    mistaken(`${request.path}?${right}`, 'path_included'),
    mistaken(request.path + right, 'path_included'),
    ...(sent === '' ? emptyValues : []),
  ];
}

function bodyTexts({ request, right }: Version1Request): readonly MistakenText[] {
  if (right === '') {
    return [...emptyValues, mistaken(request.path, 'path_included')];
  }
  const spellings = jsonSpellings(right).map((text) => mistaken(text, 'json_serialized_again'));
  return [
    ...newlineTexts(right),
    ...spellings.slice(0, COMMON_SPELLINGS),
    mistaken('', 'body_not_signed'),
    mistaken(request.path + right, 'path_included'),
    mistaken(`\ufeff${right}`, 'body_byte_order_mark'),
    ...spellings.slice(COMMON_SPELLINGS),
  ];
}

const emptyValues: readonly MistakenText[] = ['{}', 'null'].map((text) =>
  mistaken(text, 'empty_body_as_json'),
);

function mistaken(text: string, ...mistakes: readonly SigningMistake[]): MistakenText {
  return { mistakes, text };
}
