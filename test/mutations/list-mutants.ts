import { children, type Node, parseTree, rangeOf } from './syntax-tree.ts';

/** One small change of one file. */
export interface Mutant {
  /** Byte offsets into the file, because the parser counts bytes. */
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
  readonly operator: string;
  /**
   * Where the code begins that no longer runs. Only tests that execute it can notice the mutant.
   * Undefined if that is not known.
   */
  readonly skipped?: number;
}

const swappedOperators: Readonly<Record<string, string>> = {
  '===': '!==',
  '!==': '===',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '&&': '||',
  '||': '&&',
  '??': '&&',
  '+': '-',
  '-': '+',
  '*': '/',
};

const swappedMethods: ReadonlyMap<string, string> = new Map([
  ['some', 'every'],
  ['every', 'some'],
  ['min', 'max'],
  ['max', 'min'],
]);

const FUNCTIONS =
  /^(FunctionDeclaration|FunctionExpression|ArrowFunction|ClassMethod|PrivateMethod|MethodProp|Constructor)/;
/**
 * Numbers from here on are durations and sizes. No test notices if one of them increases by one.
 */
const LARGE = 1000;

/** Lists every mutant of a source text, in the order of the text. */
export function listMutants(source: string): readonly Mutant[] {
  const bytes = Buffer.from(source);
  const text = (start: number, end: number) => bytes.toString('utf8', start, end);
  const mutants: Mutant[] = [];
  /** Replaces whole conditions by true and false, which tests notice less often than a negation. */
  const conditions = new Set<Node>();
  const replace = (
    operator: string,
    [start, end]: readonly [number, number],
    by: string,
    skipped?: Node,
  ) => {
    // The second byte of a block is inside of it.
    const part = skipped && { skipped: rangeOf(skipped)[0] + 1 };
    mutants.push({ operator, start, end, replacement: by, ...part });
  };

  function visit(node: Node): void {
    if (isIgnored(node)) {
      return;
    }
    const range = rangeOf(node);
    switch (node.type) {
      case 'IfStatement':
      case 'WhileStatement':
        conditions.add(node.test as Node);
        replace('constant condition', rangeOf(node.test as Node), 'false', bodyOf(node));
        if (node.type === 'IfStatement') {
          const skipped = (node.alternate ?? undefined) as Node | undefined;
          replace('constant condition', rangeOf(node.test as Node), 'true', skipped);
        }
        break;
      case 'ConditionalExpression': {
        const test = rangeOf(node.test as Node);
        replace('negated condition', test, `!(${text(...test)})`);
        break;
      }
      case 'BinaryExpression':
        mutateBinary(node);
        break;
      case 'UnaryExpression':
        if (node.operator === '!' && !conditions.has(node)) {
          replace('dropped negation', range, text(...rangeOf(node.argument as Node)));
        }
        break;
      case 'BooleanLiteral':
        replace('flipped boolean', range, String(node.value !== true));
        break;
      case 'NumericLiteral':
        replace('changed number', range, String(changedNumber(Number(node.value))));
        break;
      case 'RegExpLiteral':
        mutateAnchors(node);
        break;
      case 'ExpressionStatement':
        mutateStatement(node);
        break;
      case 'ArrayExpression':
        mutateElements(node);
        break;
      case 'MemberExpression':
        mutateMethod(node.property as Node);
        break;
      default:
        if (FUNCTIONS.test(node.type)) {
          mutateFunction(node);
        }
    }
    children(node).forEach(visit);
  }

  function mutateBinary(node: Node): void {
    const operator = String(node.operator);
    const swapped = swappedOperators[operator];
    const [, leftEnd] = rangeOf(node.left as Node);
    const [rightStart] = rangeOf(node.right as Node);
    const at = Buffer.from(text(leftEnd, rightStart).split(operator, 1)[0] ?? '').length;
    const isText = operator === '+' && [node.left, node.right].some(isStringLike);
    const isNegation = conditions.has(node) && /^[!=]==$/.test(operator);
    if (swapped !== undefined && !isText && !isNegation) {
      const start = leftEnd + at;
      replace(`${operator} to ${swapped}`, [start, start + operator.length], swapped);
    }
  }

  function mutateAnchors(node: Node): void {
    const [start] = rangeOf(node);
    const pattern = String(node.pattern);
    if (pattern.startsWith('^')) {
      replace('dropped anchor', [start + 1, start + 2], '');
    }
    if (pattern.endsWith('$') && !pattern.endsWith('\\$')) {
      const end = start + 1 + Buffer.from(pattern).length;
      replace('dropped anchor', [end - 1, end], '');
    }
  }

  function mutateStatement(node: Node): void {
    const expression = node.expression as Node;
    if (!/^(Call|Await|Assignment|Update|Unary)Expression$/.test(expression.type)) {
      return;
    }
    replace('dropped statement', rangeOf(node), ';');
    if (expression.type === 'AwaitExpression') {
      const awaited = text(...rangeOf(expression.argument as Node));
      replace('dropped await', rangeOf(expression), `void ${awaited}`);
    }
  }

  function mutateElements(node: Node): void {
    const elements = (node.elements as ({ readonly expression: Node } | null)[]).filter(
      (element) => element !== null,
    );
    elements.forEach((element, index) => {
      const [start, end] = rangeOf(element.expression);
      const next = elements[index + 1];
      const spreadLength = 'spread' in element && element.spread ? '...'.length : 0;
      const following = next === undefined ? end : rangeOf(next.expression)[0];
      const nextSpread = next !== undefined && 'spread' in next && next.spread ? '...'.length : 0;
      replace('removed element', [start - spreadLength, following - nextSpread], '');
    });
  }

  function mutateMethod(property: Node): void {
    const swapped = swappedMethods.get(String(property.value));
    if (property.type === 'Identifier' && swapped !== undefined) {
      replace(`${String(property.value)} to ${swapped}`, rangeOf(property), swapped);
    }
  }

  function mutateFunction(node: Node): void {
    const { body } = (node.function ?? node) as { readonly body?: Node | null };
    const statements = (body?.stmts ?? []) as Node[];
    // A function with one statement is emptied by dropping that statement.
    if (body && statements.length > 1 && !returnsValue(body)) {
      replace('early return', rangeOf(statements[0] as Node), 'return;');
    }
  }

  visit(parseTree(source));
  return mutants
    .filter(({ start, end, replacement }) => text(start, end) !== replacement)
    .sort((one, other) => one.start - other.start || one.end - other.end);
}

/** Returns the text with the mutant. */
export function applyMutant(source: string, { start, end, replacement }: Mutant): string {
  const bytes = Buffer.from(source);
  return bytes.toString('utf8', 0, start) + replacement + bytes.toString('utf8', end);
}

/**
 * Statements that only log, name an error class (only stack traces show the name) or call `unref`
 * (tests end their processes by force) are not mutated, because no test can or should notice.
 */
function isIgnored({ type, expression }: Node): boolean {
  if (type !== 'ExpressionStatement') {
    return false;
  }
  const { left, callee } = expression as { readonly left?: Node; readonly callee?: Node };
  const { object, property } = (left ?? callee ?? {}) as Partial<Record<string, Node>>;
  const name = String(property?.value);
  return left === undefined
    ? name === 'unref' ||
        (object?.value === 'logger' && /^(trace|debug|info|warn|error)$/.test(name))
    : name === 'name' && object?.type === 'ThisExpression';
}

function bodyOf(node: Node): Node {
  return (node.consequent ?? node.body) as Node;
}

function isStringLike(node: unknown): boolean {
  return /^(String|Template)Literal$/.test((node as Node).type);
}

function changedNumber(value: number): number {
  if (value === 0 || value === 1) {
    return 1 - value;
  }
  return Math.abs(value) < LARGE ? value + 1 : value * 2;
}

function returnsValue(node: Node): boolean {
  return children(node).some((child) =>
    child.type === 'ReturnStatement'
      ? child.argument !== null && child.argument !== undefined
      : !FUNCTIONS.test(child.type) && returnsValue(child),
  );
}
