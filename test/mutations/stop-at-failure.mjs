// The Jest environment of mutants. Reports the first failure to `run-tests.ts`, which then ends the
// test process.
import { writeSync } from 'node:fs';
import { TestEnvironment } from 'jest-environment-node';

export default class StopAtFailure extends TestEnvironment {
  handleTestEvent({ name, test, error }) {
    if (name === 'test_done' && test.errors.length > 0) {
      report(test.errors[0], fullName(test));
    } else if (name === 'hook_failure') {
      report(error);
    }
  }
}

/** Errors are pairs of the error and the place where Jest registered the test. */
function report(failure, test) {
  const error = Array.isArray(failure) ? failure[0] : failure;
  const message = String(error?.message ?? error);
  // Of Jest, of `node:assert` and of supertest. Everything else can be a busy machine.
  const isAssertion = /\bexpect\(/.test(message) || Object.hasOwn(error ?? {}, 'actual');
  const [line] = message.split('\n', 1);
  writeSync(2, `\nFIRST FAILURE ${JSON.stringify({ isAssertion, message: line, test })}\n`);
}

/** As `--testNamePattern` expects it. The outermost block of a file has no title. */
function fullName({ name, parent }) {
  return parent?.parent ? `${fullName(parent)} ${name}` : name;
}
