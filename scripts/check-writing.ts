/**
 * Rejects words and constructions of scripts/writing/terms.ts in documents, comments, messages and
 * test titles. Arguments are files or folders; without any, the whole project is checked.
 */
import { TextlintKernelDescriptor } from '@textlint/kernel';
import markdown from '@textlint/textlint-plugin-markdown';
import { createLinter, loadLinterFormatter } from 'textlint';
import allowlist from 'textlint-filter-rule-allowlist';
import terminology from 'textlint-rule-terminology';
import { quotations } from './writing/quotations.ts';
import { sourceTextPlugin } from './writing/source-text-plugin.ts';
import { terms } from './writing/terms.ts';

const everything = [
  '*.{md,ts}',
  '{apps,bench,docs,examples,packages,scripts,test}/**/*.{md,mjs,ts}',
];

const linter = createLinter({
  descriptor: new TextlintKernelDescriptor({
    rules: [
      { ruleId: 'terms', rule: terminology, options: { defaultTerms: false, terms, skip: [] } },
    ],
    filterRules: [
      { ruleId: 'quotations', rule: allowlist.default, options: { allow: quotations } },
    ],
    plugins: [
      { pluginId: 'markdown', plugin: markdown.default },
      { pluginId: 'source-text', plugin: sourceTextPlugin },
    ],
  }),
  ignoreFilePath: 'scripts/writing/exempt',
});
const selected = process.argv.slice(2);
const results = await linter.lintFiles(selected.length > 0 ? selected : everything);
if (results.some(({ messages }) => messages.length > 0)) {
  const formatter = await loadLinterFormatter({ formatterName: 'unix', color: false });
  console.error(formatter.format(results));
  process.exitCode = 1;
}
