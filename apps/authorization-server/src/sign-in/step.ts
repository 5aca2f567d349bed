/** One step of a sign-in after the first proof of identity, such as a second factor. */
import type { User } from '@gatehouse/identity';
import { z } from 'zod';
import type { Exchange, Interaction, InteractionPage } from './interaction.ts';

/** The time for all steps. */
export const STEPS_SECONDS = 10 * 60;

export const storedProof = z.object({
  userId: z.string(),
  /** When the user proved it first. Epoch seconds. */
  at: z.number(),
  /** How: the `amr` of the session (RFC 8176). */
  amr: z.array(z.string()),
  remember: z.boolean(),
  /** The user does not want to enroll a factor now. */
  hasDeclined: z.boolean().optional(),
  /** The upstream provider that identified the user, and what it reported for the session. */
  upstream: z
    .object({ id: z.string(), amr: z.array(z.string()), authTime: z.number().optional() })
    .optional(),
});

/** What the user of an interaction proved so far. */
export type Proof = Readonly<z.infer<typeof storedProof>>;

export interface StepContext extends Exchange {
  readonly user: User;
  readonly proof: Proof;
}

export interface SignInStep {
  /** The end of the address of its page, and of its form. */
  readonly name: string;
  /** Whether the user has to pass this step. */
  readonly isNeeded: (context: StepContext) => Promise<boolean>;
  readonly show: (page: InteractionPage, context: StepContext) => Promise<void> | void;
  /**
   * Handles the form.
   *
   * @returns the user and the proof with which the sign-in continues. Undefined after a reply
   */
  readonly submit: (
    context: StepContext,
  ) => Promise<Pick<StepContext, 'user' | 'proof'> | undefined>;
}

/** The proof of a user who was identified a moment ago. */
export function firstProof(
  { userId, notBefore }: User,
  how: Pick<Proof, 'amr' | 'remember'>,
): Proof {
  // Right after a sign-out everywhere, this sign-in must count as the later of the two.
  return { userId, at: Math.max(Math.floor(Date.now() / 1000), notBefore + 1), ...how };
}

export function stepAddress({ uid }: Interaction, { name }: Pick<SignInStep, 'name'>): string {
  return `/sign-in/${uid}/${name}`;
}
