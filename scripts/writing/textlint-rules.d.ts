declare module 'textlint-filter-rule-allowlist' {
  import type { TextlintFilterRuleReporter } from '@textlint/types';

  const rule: { readonly default: TextlintFilterRuleReporter };
  export default rule;
}

declare module 'textlint-rule-terminology' {
  import type { TextlintRuleModule } from '@textlint/types';

  const rule: TextlintRuleModule;
  export default rule;
}
