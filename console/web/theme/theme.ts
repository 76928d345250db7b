/** The tokens of the console's look: colors, type, spacing. Everything else refers to them. */
import {
  type BadgeProps,
  Button,
  type CSSVariablesResolver,
  createTheme,
  type DrawerProps,
  type MantineColorsTuple,
  type ModalProps,
} from '@mantine/core';

/** Cool grays of paper and steel. */
const STEEL: MantineColorsTuple = [
  '#f5f7f8',
  '#ebeff1',
  '#e0e6e9',
  '#d0d8dd',
  '#b8c4cb',
  '#93a3ad',
  '#6b7d89',
  '#495b67',
  '#304250',
  '#1a2a35',
];
/** From text to the deepest water. */
const INK: MantineColorsTuple = [
  '#d8e1e7',
  '#adbcc6',
  '#8b9daa',
  '#607482',
  '#2f414d',
  '#22323c',
  '#17242c',
  '#0f1a21',
  '#0a1318',
  '#060c10',
];
/** What acts, and what is measured first. */
const TIDE: MantineColorsTuple = [
  '#e5f4f4',
  '#c9e6e7',
  '#9bd1d4',
  '#68b9be',
  '#3fa2a9',
  '#218d96',
  '#117a83',
  '#0b666f',
  '#09545c',
  '#05414a',
];
/** The mark of where one is. Never text. */
const BUOY: MantineColorsTuple = [
  '#fff0e6',
  '#ffdfcb',
  '#fec09b',
  '#fb9e66',
  '#f7823b',
  '#f2701f',
  '#dd5f12',
  '#b94c0b',
  '#953d09',
  '#753008',
];

/** Colors of series, in the order in which charts take them. */
export const CHART = {
  main: 'tide.5',
  second: 'buoy.5',
  third: 'ink.3',
  good: 'tide.5',
  caution: 'yellow.6',
  limit: 'grape.5',
  bad: 'red.7',
} as const;

const PIXEL = 1 / 16;
const rem = (pixels: number): string => `${pixels * PIXEL}rem`;

const NO_BANNER = { header: { role: 'none' } };

export const theme = createTheme({
  colors: { gray: STEEL, dark: INK, tide: TIDE, buoy: BUOY, ink: INK },
  primaryColor: 'tide',
  // White on any of the colors of this shade meets WCAG contrast.
  primaryShade: 8,
  fontFamily: "'Segoe UI Variable Text', system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
  fontFamilyMonospace: "ui-monospace, 'SF Mono', 'Cascadia Mono', Menlo, Consolas, monospace",
  fontSizes: { xs: rem(12), sm: rem(13), md: rem(14), lg: rem(16), xl: rem(20) },
  lineHeights: { xs: '1.35', sm: '1.4', md: '1.5', lg: '1.5', xl: '1.3' },
  spacing: { xs: rem(8), sm: rem(10), md: rem(14), lg: rem(20), xl: rem(28) },
  radius: { xs: rem(2), sm: rem(3), md: rem(5), lg: rem(8), xl: rem(16) },
  defaultRadius: 'sm',
  shadows: { md: '0 8px 24px rgb(6 12 16 / 18%)', xl: '0 12px 40px rgb(6 12 16 / 28%)' },
  headings: {
    fontWeight: '600',
    sizes: {
      h1: { fontSize: rem(22), lineHeight: '1.25' },
      h2: { fontSize: rem(20), lineHeight: '1.3' },
      h3: { fontSize: rem(16), lineHeight: '1.35' },
      h4: { fontSize: rem(14), lineHeight: '1.4' },
      h5: { fontSize: rem(13), lineHeight: '1.4' },
    },
  },
  cursorType: 'pointer',
  respectReducedMotion: true,
  components: {
    // With reduced motion, Mantine does not center the spinner.
    Button: Button.extend({
      styles: { loader: { transform: 'translate(-50%, -50%)' } },
      vars: (_, { size = 'sm' }) => ({
        root: size === 'sm' ? { '--button-height': rem(32), '--button-padding-x': rem(14) } : {},
      }),
    }),
    // Their header is no banner of the page.
    Modal: { defaultProps: { attributes: NO_BANNER } satisfies Partial<ModalProps> },
    Drawer: { defaultProps: { attributes: NO_BANNER } satisfies Partial<DrawerProps> },
    // Without its code, which the first page does not need.
    Badge: { defaultProps: { radius: 'xs', fw: 500 } satisfies Partial<BadgeProps> },
  },
});

/** Some of Mantine's default colors do not meet WCAG contrast. */
export const resolveVariables: CSSVariablesResolver = () => ({
  variables: {
    '--berth-frame': '#0d2531',
    '--berth-frame-line': '#24404e',
    '--berth-frame-text': '#c3d2db',
    '--berth-mark': 'var(--mantine-color-buoy-5)',
  },
  light: {
    '--berth-line': 'var(--mantine-color-gray-2)',
    '--berth-well': 'var(--mantine-color-gray-0)',
    '--mantine-color-text': 'var(--mantine-color-gray-9)',
    '--mantine-color-dimmed': 'var(--mantine-color-gray-7)',
    '--mantine-color-placeholder': 'var(--mantine-color-gray-7)',
    '--mantine-color-green-light-color': '#1b6b2b',
    '--mantine-color-yellow-light-color': '#854a00',
    '--mantine-color-blue-light-color': '#0f4c81',
    '--mantine-color-red-light-color': '#a61e1e',
    '--mantine-color-error': 'var(--mantine-color-red-9)',
  },
  dark: {
    '--berth-frame': 'var(--mantine-color-dark-8)',
    '--berth-frame-line': 'var(--mantine-color-dark-5)',
    '--berth-line': 'var(--mantine-color-dark-5)',
    '--berth-well': 'var(--mantine-color-dark-6)',
    '--mantine-color-dimmed': 'var(--mantine-color-dark-1)',
    '--mantine-color-placeholder': 'var(--mantine-color-dark-1)',
    '--mantine-color-red-light-color': 'var(--mantine-color-red-3)',
    '--mantine-color-error': 'var(--mantine-color-red-4)',
  },
});
