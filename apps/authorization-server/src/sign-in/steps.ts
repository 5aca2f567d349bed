/**
 * What happens between the first proof of identity (a password, a passkey, another provider)
 * and the end of the sign-in. Each step is a page of the interaction. What the user proved so far is
 * kept in the browser, sealed for the interaction, so that the store holds nothing of an unfinished
 * sign-in.
 */
import { acrOfMethods, parseRecord, type User } from '@gatehouse/identity';
import type { Router } from 'express';
import { parseForm } from '../pages/page.ts';
import { recordEvent } from '../requests/caller.ts';
import {
  type Exchange,
  findInteraction,
  interactionForm,
  openPage,
  type SignInDependencies,
  signInPlace,
} from './interaction.ts';
import { newPasswordStep } from './new-password.ts';
import { enrollStep, secondFactorStep } from './second-factor.ts';
import {
  type Proof,
  type SignInStep,
  STEPS_SECONDS,
  type StepContext,
  stepAddress,
  storedProof,
} from './step.ts';

/** In this order: a user with two factors proves both before the password can be changed. */
const steps: readonly SignInStep[] = [secondFactorStep, newPasswordStep, enrollStep];

async function nextStep(context: StepContext): Promise<SignInStep | undefined> {
  for (const step of steps) {
    if (await step.isNeeded(context)) {
      return step;
    }
  }
  return undefined;
}

/** Continues with the next step that is needed, or ends the sign-in. */
export async function continueSignIn(context: StepContext): Promise<void> {
  const { response, interaction, proof, dependencies } = context;
  const step = await nextStep(context);
  if (step === undefined) {
    await endSignIn(context);
  } else {
    dependencies.browserState.proofs.write(interaction.uid, JSON.stringify(proof), STEPS_SECONDS);
    response.redirect(303, stepAddress(interaction, step));
  }
}

async function endSignIn(context: StepContext): Promise<void> {
  const { request, response, interaction, user, proof, dependencies } = context;
  const { provider, deviceCookies, browserState } = dependencies;
  browserState.proofs.clear(interaction.uid);
  deviceCookies.issue(request, response, user);
  await leaveFormerAccount(user.userId, context);
  const { at, remember, upstream } = proof;
  const { userId } = user;
  const amr = [...new Set([...(upstream?.amr ?? []), ...proof.amr])];
  const { method, clientId } = signInPlace(interaction);
  const event = { event: 'sign_in_succeeded', clientId, userId, upstream: upstream?.id } as const;
  const known = { method: upstream ? 'upstream' : method, ...(amr.length > 1 && { amr }) } as const;
  recordEvent(request, { ...event, ...known }, dependencies.identity);
  const ts = upstream?.authTime ?? at;
  const how = { acr: acrOfMethods(proof.amr), ...(amr.length > 0 && { amr }) };
  const login = { accountId: userId, ts, ...how, remember };
  await provider.interactionFinished(request, response, { login, select_account: {} });
}

/**
 * When another user signs in, the session of the former user ends first, with its grants, and the
 * interaction is no longer bound to it. The library would use a page that submits itself with an
 * inline script.
 */
async function leaveFormerAccount(
  accountId: string,
  { interaction, dependencies: { provider } }: StepContext,
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

/** The pages and forms of all steps. A browser without a proof starts with the sign-in page. */
export function addSteps(router: Router, dependencies: SignInDependencies): void {
  for (const step of steps) {
    router.get(`/:interaction/${step.name}`, async (request, response) => {
      const exchange = { request, response, dependencies };
      const interaction = await findInteraction(exchange);
      const context = await openStep({ ...exchange, interaction }, step);
      if (context !== undefined) {
        await step.show(await openPage(context), context);
      }
    });
    const submit = interactionForm(dependencies, async (exchange) => {
      const context = await openStep(exchange, step);
      const passed = context && (await step.submit(context));
      if (passed !== undefined) {
        await continueSignIn({ ...exchange, ...passed });
      }
    });
    router.post(`/:interaction/${step.name}`, parseForm, submit);
  }
}

/**
 * The user and the proof of a browser at this step. Undefined after a redirect: there is no valid
 * proof, or this step is not the next one.
 */
async function openStep(exchange: Exchange, step: SignInStep): Promise<StepContext | undefined> {
  const { response, interaction, dependencies } = exchange;
  const proof = parseRecord(storedProof, dependencies.browserState.proofs.read(interaction.uid));
  const user = await dependencies.identity.users.find(proof?.userId ?? '');
  if (proof === undefined || user === undefined || !isCurrent(proof, user)) {
    dependencies.browserState.proofs.clear(interaction.uid);
    response.redirect(303, `/sign-in/${interaction.uid}`);
    return undefined;
  }
  const context = { ...exchange, user, proof };
  if ((await nextStep(context)) === step) {
    return context;
  }
  await continueSignIn(context);
  return undefined;
}

/** Not too old, and nothing was changed or signed out since. */
function isCurrent({ at }: Proof, { enabled, notBefore }: User): boolean {
  const age = Math.floor(Date.now() / 1000) - at;
  return enabled && at > notBefore && age <= STEPS_SECONDS;
}
