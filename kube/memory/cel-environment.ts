/**
 * CEL with functions of Kubernetes' own: those that rules of Berth use, and those like them; `make verify` fails for others.
 * The other libraries of npm, cel-js and @bufbuild/cel, parse no optionals and offer no check of types.
 */
import { Environment, EvaluationError, Optional } from '@marcbachmann/cel-js';
import { Quantity } from './quantity.ts';

/** An environment that rules are compiled in. */
export type CelEnvironment = Environment;

export const toOptional = (value: unknown): unknown =>
  value === undefined ? Optional.none() : Optional.of(value);

type Comparable = bigint | number | string;

export function createEnvironment(): CelEnvironment {
  const environment = new Environment({ enableOptionalTypes: true });
  addTextFunctions(environment);
  addListFunctions(environment);
  addQuantities(environment);
  return environment;
}

function addTextFunctions(environment: Environment): void {
  const findAll = (text: string, pattern: string) => text.match(new RegExp(pattern, 'g')) ?? [];
  environment
    .registerFunction('string.find(string): string', (text, pattern) => findAll(text, pattern)[0] ?? '')
    .registerFunction('string.findAll(string): list<string>', findAll)
    .registerFunction('string.findAll(string, int): list<string>', (text, pattern, limit: bigint) =>
      findAll(text, pattern).slice(0, limit < 0n ? undefined : Number(limit)),
    )
    .registerFunction('string.replace(string, string): string', (text: string, from: string, to: string) =>
      text.replaceAll(from, () => to),
    );
}

function addListFunctions(environment: Environment): void {
  const smallest = (list: Comparable[], isBefore: (a: Comparable, b: Comparable) => boolean) => {
    if (list.length === 0) throw new EvaluationError('min/max called on empty list');
    return list.reduce((best, each) => (isBefore(each, best) ? each : best));
  };
  environment
    .registerFunction('list<A>.isSorted(): bool', (list: Comparable[]) =>
      list.every((each, index) => index === 0 || list[index - 1]! <= each),
    )
    .registerFunction('list<A>.min(): A', (list) => smallest(list, (a, b) => a < b))
    .registerFunction('list<A>.max(): A', (list) => smallest(list, (a, b) => a > b))
    .registerFunction('list<int>.sum(): int', (list: bigint[]) => list.reduce((sum, each) => sum + each, 0n))
    .registerFunction('list<A>.indexOf(A): int', (list, value) => BigInt(list.indexOf(value)))
    .registerFunction('list<A>.lastIndexOf(A): int', (list, value) => BigInt(list.lastIndexOf(value)));
}

const QUANTITY = 'kubernetes.Quantity';

function addQuantities(environment: Environment): void {
  const parse = (text: string): Quantity => {
    const quantity = Quantity.parse(text);
    if (!quantity) throw new EvaluationError(`quantities must match the regular expression of a quantity`);
    return quantity;
  };
  const toInteger = (quantity: Quantity): bigint => {
    const integer = quantity.toInteger();
    if (integer === undefined) throw new EvaluationError('cannot convert value to integer');
    return integer;
  };
  environment
    .registerType(QUANTITY, Quantity)
    .registerOperator(`${QUANTITY} == ${QUANTITY}`, (a: Quantity, b: Quantity) => a.compareTo(b) === 0n)
    .registerFunction(`quantity(string): ${QUANTITY}`, parse)
    .registerFunction('isQuantity(string): bool', (text) => Quantity.parse(text) !== undefined);
  const register = (signature: string, handler: (quantity: Quantity, other: Quantity) => unknown) =>
    environment.registerFunction(`${QUANTITY}.${signature}`, handler);
  register(`compareTo(${QUANTITY}): int`, (quantity, other) => quantity.compareTo(other));
  register(`isLessThan(${QUANTITY}): bool`, (quantity, other) => quantity.compareTo(other) < 0n);
  register(`isGreaterThan(${QUANTITY}): bool`, (quantity, other) => quantity.compareTo(other) > 0n);
  register(`add(${QUANTITY}): ${QUANTITY}`, (quantity, other) => quantity.plus(other));
  register(`sub(${QUANTITY}): ${QUANTITY}`, (quantity, other) => quantity.minus(other));
  register('sign(): int', (quantity) => quantity.sign());
  register('isInteger(): bool', (quantity) => quantity.toInteger() !== undefined);
  register('asInteger(): int', toInteger);
  register('asApproximateFloat(): double', (quantity) => quantity.toNumber());
}

/** The API server's words for what an expression fails with. */
const CONVERSIONS: Readonly<Record<string, string>> = {
  int_conversion_error: 'int',
  double_conversion_error: 'double',
  invalid_duration: 'google.protobuf.Duration',
  invalid_timestamp: 'google.protobuf.Timestamp',
};

export function describeError(error: unknown): string {
  if (!(error instanceof EvaluationError)) return String(error);
  const to = CONVERSIONS[error.code];
  if (to) return `type conversion error from 'string' to '${to}'`;
  return error.summary.replace(/^No such key/, 'no such key');
}
