/**
 * Words and constructions that CONTRIBUTING.md rejects, as regular expressions, and what to write
 * instead. A space also matches a line break within a comment.
 */
const replacements: Readonly<Record<string, string>> = {
  'mend(?:s|ed|ing)?': 'correct',
  anew: 'again',
  '(?:is|are|was|were|be|being) (?:away|gone)': 'is unavailable, or: no longer exists',
  '(?:leave|leaves|leaving|left) out': 'omit, skip',
  '(?:hear|hears|heard) of': 'be notified of',
  '(?:take|taken|takes|took) for': 'treat as',
  '(?:take|taken|takes|taking|took) back': 'revoke, undo',
  'by turns': 'alternately',
  'at hand': 'available',
  "of (?:one's|our|your) own": 'custom, or: your own …',
  'of (?:ours|yours)': "Gatehouse's, or: your …",
  'letter by letter': 'exactly',
  'the like': 'similar',
  beside: 'next to, in addition to',
  somebody: 'a user, an attacker, a caller',
  everybody: 'every user, every caller',
  "nobody['’]s": 'not a …',
  'nobody who': 'no user that',
  '(?:after|at|by|for|from|of|than|to|what|when|with) who': 'the caller that, the user who',
  '(?:[.;]|/\\*\\*|//) who [a-z]+s(?= )': 'a caller that',
  'what (?:came|comes|arrived|arrives|goes|stands)': 'data that, a request that',
  '(?:is|are) none of': 'is not one of',
  '(?:stand|stands|standing) (?:around|before|behind|beside)': 'wraps, precedes, follows',
  says: 'reports, prints, returns, states',
  'once more': 'again',
  administrator: 'operator',
  '(?:is|are|was|were) refused': 'is rejected',
  misspelt: 'misspelled',
  'who(?:m)?ever': 'a caller that, every user who',
  wherever: 'if, in every …',
  'told (?:about|again|apart|at|how|of|once|what|whether)': 'notified of, reported, distinguished',
  'under way': 'in progress',
  excepted: 'except …',
  'by the (?:dozen|hundred|thousand)': 'thousands of',
  'as it were': 'as if',
  'for ever': 'forever',
  '(?:is|are|be|replicas) in step': 'is in sync',
};

/** In the form of textlint-rule-terminology. */
export const terms: readonly (readonly [pattern: string, replacement: string])[] = Object.entries(
  replacements,
).map(([pattern, replacement]) => [pattern.replaceAll(' ', '[\\s*/]+'), replacement]);
