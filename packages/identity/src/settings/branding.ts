/**
 * `branding` of the settings: how the pages of the authorization server look, for the installation
 * and for organizations, and whether its colors have enough contrast. brand-images.ts has the images.
 */
import { isLoopbackUrl } from '@gatehouse/server/configuration';
import { type ColorScheme, readPalette } from '@gatehouse/server/page-styles';
import { z } from 'zod';
import { identifier, text } from '../records/record.ts';

/** The settings name an image by the hash of its content. */
const image = z.strictObject({
  type: z.enum(['image/svg+xml', 'image/png']),
  hash: z.string().regex(/^[\w-]{43}$/),
  /** In base64. Only on the way from its file to its record. */
  content: z.string().optional(),
});

const color = z.string().regex(/^#[0-9a-f]{6}$/i, 'must be a color such as #0b5cad');

const colors = z.strictObject({
  /** Of links and of the button that continues. */
  accent: color.optional(),
  /** Around the card. */
  ground: color.optional(),
});

const webAddress = z
  .string()
  .max(500)
  .refine(
    (value) => URL.canParse(value) && (value.startsWith('https://') || isLoopbackUrl(value)),
    'must be an https address',
  );

const brandMembers = {
  name: text(60).optional(),
  /** Replaces mark and name at the top of a page. */
  logo: image.optional(),
  favicon: image.optional(),
  colors: z.strictObject({ light: colors.optional(), dark: colors.optional() }).optional(),
  links: z
    .strictObject({
      help: webAddress.optional(),
      privacy: webAddress.optional(),
      terms: webAddress.optional(),
    })
    .optional(),
  /** Where users get help: an email address, an https address, or a text. */
  contact: text(200).optional(),
};

export const brandingSchema = z.strictObject({
  ...brandMembers,
  /** By id. A member replaces that of the installation. */
  organizations: z.record(identifier, z.strictObject(brandMembers)).default({}),
});

export type Branding = Readonly<z.output<typeof brandingSchema>>;
export type Brand = Readonly<Omit<Branding, 'organizations'>>;
export type BrandImage = z.output<typeof image>;

export const imageMembers = ['logo', 'favicon'] as const;

/** The images of all brands. */
export function imagesOf(branding: Branding | undefined): readonly BrandImage[] {
  const brands: readonly Brand[] =
    branding === undefined ? [] : [branding, ...Object.values(branding.organizations)];
  return brands.flatMap((brand) => imageMembers.flatMap((member) => brand[member] ?? []));
}

/** The branding as the record of the settings has it. */
export function withoutImageContents(branding: Branding | undefined): Branding | undefined {
  const described = structuredClone(branding);
  for (const image of imagesOf(described)) {
    delete image.content;
  }
  return described;
}

/** The brand of an organization, or of the installation if the organization has none. */
export type Brands = (orgId: string | undefined) => Brand;

export function resolveBrands({ organizations = {}, ...installation }: Partial<Branding>): Brands {
  const brands = new Map(
    Object.entries(organizations).map(([id, own]) => [id, combine(installation, own)]),
  );
  return (orgId = '') => brands.get(orgId) ?? installation;
}

function combine(installation: Brand, own: Brand): Brand {
  const scheme = (name: ColorScheme) => ({ ...installation.colors?.[name], ...own.colors?.[name] });
  return {
    ...installation,
    ...own,
    colors: { light: scheme('light'), dark: scheme('dark') },
    links: { ...installation.links, ...own.links },
  };
}

/**
 * The texts on their grounds that a brand can change. A mix of the accent with the color of texts, which
 * the pages show under the pointer, has enough contrast if both have.
 */
const pairs = [
  ['accent', 'card'],
  ['accent', 'ground'],
  ['text', 'ground'],
  ['quiet', 'ground'],
  ['on-accent', 'accent'],
] as const;

/** WCAG 2.2, 1.4.3 Contrast (Minimum), level AA. */
const NEEDED_CONTRAST = 4.5;

/** Finds colors with too little contrast. A stored brand is not checked again. */
export function contrastProblems(
  branding: Branding,
): readonly { readonly path: readonly string[]; readonly message: string }[] {
  const brandOf = resolveBrands(branding);
  return [undefined, ...Object.keys(branding.organizations)].flatMap((id) =>
    (['light', 'dark'] as const).flatMap((scheme) => {
      const { accent, ground } = brandOf(id).colors?.[scheme] ?? {};
      const declared = { ...(accent && { accent }), ...(ground && { ground }) };
      const all: Readonly<Record<string, string>> = { ...readPalette(scheme), ...declared };
      const problem = pairs
        .filter((pair) => pair.some((name) => name in declared))
        .map(([front, back]) => ({ front, back, ratio: contrast(all[front], all[back]) }))
        .find(({ ratio }) => ratio < NEEDED_CONTRAST);
      if (problem === undefined) {
        return [];
      }
      const { front, back, ratio } = problem;
      const isOfGround = back === 'ground' && !(front === 'accent' && accent);
      const member = isOfGround ? 'ground' : 'accent';
      const place = id === undefined ? [] : ['organizations', id];
      return [
        {
          path: [...place, 'colors', scheme, member],
          message: `gives a contrast of ${ratio.toFixed(2)}:1 between ${all[front]} (${front}) and ${all[back]} (${back}). WCAG AA needs ${NEEDED_CONTRAST}:1`,
        },
      ];
    }),
  );
}

/** WCAG 2.2, contrast ratio and relative luminance. */
function contrast(one = '#000000', other = '#000000'): number {
  const [low = 0, high = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
