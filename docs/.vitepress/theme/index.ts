// The fonts of the reader's own system.
import theme from 'vitepress/theme-without-fonts';

export default theme;
