import type Provider from 'oidc-provider';
import type { Interaction } from './sign-in-page.ts';

/**
 * When another person signs in where somebody was signed in, that session ends first, with all it gave, and the
 * interaction is no longer bound to it. The library would do it by a page that submits itself by inline script.
 */
export async function leaveFormerAccount(
  accountId: string,
  interaction: Interaction,
  provider: Provider,
): Promise<void> {
  const former = interaction.session;
  if (former === undefined || former.accountId === accountId) {
    return;
  }
  const session = await provider.Session.findByUid(former.uid);
  interaction.session = undefined;
  delete interaction.grantId;
  await interaction.persist();
  await session?.destroy();
}
