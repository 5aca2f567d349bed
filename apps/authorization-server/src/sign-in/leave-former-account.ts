import type Provider from 'oidc-provider';
import type { Interaction } from './sign-in-page.ts';

/**
 * When another user signs in, the session of the former user ends first, with its grants, and the
 * interaction is no longer bound to it. The library would use a page that submits itself with an
 * inline script.
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
