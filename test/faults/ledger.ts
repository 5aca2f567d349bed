import { setTimeout as sleep } from 'node:timers/promises';
import { authorizeAsUser, createPageVisitor, until } from '@gatehouse/testing';
import { isSuccess, memberOf, type Requests, send } from './requests.ts';
import { person, type Tier } from './tier.ts';

/** The tier should be busy, not overloaded. */
const PAUSE_MILLISECONDS = 10;

export type Kind = 'revoked token' | 'used code' | 'rotated refresh token';

interface Ended {
  readonly kind: Kind;
  readonly index: number;
  readonly value: string;
}

/**
 * Ends credentials some time after they were issued. Otherwise a failover could lose both writes
 * together, and the test would prove nothing.
 */
const STOCK = 10;

interface Application {
  readonly visitor: ReturnType<typeof createPageVisitor>;
  readonly codes: string[];
  readonly refreshTokens: string[];
}

/**
 * Continuously ends credentials, and records what the tier acknowledged: revocations with status
 * 200, codes that returned tokens, and refresh tokens whose successor was used. None of these
 * credentials may work again.
 */
export class Ledger {
  readonly #tier: Tier;
  readonly #requests: Requests;
  readonly #ended: Ended[] = [];
  #isRunning = true;
  readonly #workers: Promise<void>[];

  constructor(tier: Tier, requests: Requests) {
    this.#tier = tier;
    this.#requests = requests;
    this.#workers = [
      ...[0, 1, 2].map((index) => {
        const stock: string[] = [];
        return this.#work(() => this.#machine(index, stock));
      }),
      ...[0, 1].map((index) => {
        const visitor = createPageVisitor();
        const application = { visitor, codes: [], refreshTokens: [] };
        return this.#work(() => this.#application(index, application));
      }),
    ];
  }

  get size(): number {
    return this.#ended.length;
  }

  count(kind: Kind): number {
    return this.#ended.filter((each) => each.kind === kind).length;
  }

  /** A token that was revoked at least a second ago. */
  revokedToken(): string | undefined {
    const tokens = this.#ended.filter(({ kind }) => kind === 'revoked token');
    return tokens[Math.floor(Math.random() * Math.max(0, tokens.length - 50))]?.value;
  }

  reach(size: number): Promise<void> {
    return until(() => this.#ended.length >= size, 120);
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    await Promise.all(this.#workers);
  }

  /**
   * Presents all ended credentials again. Each must be rejected. A 503 proves nothing, so the
   * request is repeated.
   */
  async findAccepted(): Promise<readonly Kind[]> {
    const waiting = [...this.#ended];
    const accepted: Kind[] = [];
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
          if (await this.#isAccepted(next)) {
            accepted.push(next.kind);
          }
        }
      }),
    );
    return accepted;
  }

  async #isAccepted(ended: Ended): Promise<boolean> {
    for (let attempt = 0; attempt < 50; attempt += 1) {
      const reply = await this.#present(ended);
      if (isSuccess(reply)) {
        return true;
      }
      if (reply.status === 400 || reply.status === 401) {
        return false;
      }
      await sleep(100);
    }
    throw new Error(`The tier does not answer about a ${ended.kind}.`);
  }

  #present({ kind, index, value }: Ended) {
    if (kind === 'revoked token') {
      return this.#requests.call(value);
    }
    return kind === 'used code' ? this.#redeem(index, value) : this.#refresh(index, value);
  }

  async #work(step: () => Promise<void>): Promise<void> {
    while (this.#isRunning) {
      // If the fault interrupts a step, the ledger does not record it.
      await step().catch(() => undefined);
      await sleep(PAUSE_MILLISECONDS);
    }
  }

  async #machine(index: number, stock: string[]): Promise<void> {
    stock.push(memberOf(await this.#requests.machineToken(index), 'access_token'));
    const token = takeAged(stock);
    if (token !== undefined && isSuccess(await this.#requests.revoke(index, token))) {
      this.#ended.push({ kind: 'revoked token', index, value: token });
    }
  }

  async #application(index: number, { visitor, codes, refreshTokens }: Application): Promise<void> {
    const { client, redirectUri, user } = person(index);
    const query = `response_type=code&client_id=${client.clientId}&redirect_uri=${redirectUri}`;
    const url = `${this.#tier.authorizationServerUrl}/authorize?${query}`;
    const landed = await authorizeAsUser(url, user, visitor);
    codes.push(landed.searchParams.get('code') ?? '');
    const code = takeAged(codes);
    if (code !== undefined) {
      const redeemed = await this.#redeem(index, code);
      if (isSuccess(redeemed)) {
        this.#ended.push({ kind: 'used code', index, value: code });
        refreshTokens.push(memberOf(redeemed, 'refresh_token'));
      }
    }
    const first = takeAged(refreshTokens);
    if (first !== undefined) {
      const second = memberOf(await this.#refresh(index, first), 'refresh_token');
      if (isSuccess(await this.#refresh(index, second))) {
        this.#ended.push({ kind: 'rotated refresh token', index, value: first });
      }
    }
  }

  #redeem(index: number, code: string) {
    const { redirectUri } = person(index);
    const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri };
    return this.#requests.token(index, form);
  }

  #refresh(index: number, token: string) {
    const parameters = { grant_type: 'refresh_token', refresh_token: token };
    return this.#requests.token(index, parameters);
  }
}

function takeAged(stock: string[]): string | undefined {
  return stock.length > STOCK ? stock.shift() : undefined;
}

/** A request without a credential. */
export const callWithout = ({ gatewayUrl }: Tier) => send(`${gatewayUrl}/api/device`);
