/** The GGUF models among the files of a repository or a folder, by quantization, and the choice of one. Pure. */

import { formatGibibytes } from '../../weights/eviction.ts';

export interface SizedFile {
  /** Relative, with slashes. */
  path: string;
  size: number;
}

/** One model: a file, or the parts of a split one in order. */
export interface Variant<F extends SizedFile = SizedFile> {
  /** Its path, without the number of a part. */
  path: string;
  /** Such as `Q4_K_M`; undefined if its path has none. */
  quantization: string | undefined;
  files: F[];
  bytes: number;
}

const PART = /-(\d{5})-of-(\d{5})(?=\.gguf$)/i;
/** The projector of images, and statistics: no models by themselves. */
const NO_MODEL = /(^|[-._/])(mmproj|imatrix)([-._]|$)/i;
const QUANTIZATION =
  /(?<=^|[-._/])(?:UD-)?(?:I?Q\d(?:_[A-Z0-9]+)*|TQ\d_\d|MXFP4(?:_MOE)?|NVFP4|BF16|F(?:P)?(?:16|32))(?=$|[-./])/gi;
/** llama.cpp's own choice if none is given. */
const DEFAULT = 'Q4_K_M';

/** Split models whose parts are not all there are left out. */
export function listVariants<F extends SizedFile>(files: readonly F[]): Variant<F>[] {
  const models = files.filter(({ path }) => /\.gguf$/i.test(path) && !NO_MODEL.test(path));
  return [...Map.groupBy(models, ({ path }) => path.replace(PART, ''))]
    .map(([path, parts]) => ({
      path,
      quantization: readQuantization(path),
      files: parts.sort((a, b) => a.path.localeCompare(b.path)),
      bytes: parts.reduce((sum, { size }) => sum + size, 0),
    }))
    .filter(({ files }) => files.length === Number(PART.exec(files[0]!.path)?.[2] ?? 1))
    .sort((a, b) => a.bytes - b.bytes);
}

/** The last in its path: the name of a model may contain what looks like one. */
function readQuantization(path: string): string | undefined {
  const found = path.replace(/\.gguf$/i, '').match(QUANTIZATION);
  return found ? normalize(found.at(-1)!) : undefined;
}

const normalize = (quantization: string): string => quantization.toUpperCase().replace(/^FP(?=\d)/, 'F');

/** `wanted`: a quantization or a file. Throws with those that exist; `place` is what MODEL names without it. */
export function chooseVariant<F extends SizedFile>(
  variants: readonly Variant<F>[],
  wanted: string | undefined,
  place: string,
): Variant<F> {
  if (variants.length === 0)
    throw new Error(
      `${place} has no GGUF model: name a repository or a folder with .gguf files (such repositories often end in -GGUF)`,
    );
  const matching = variants.filter((variant) => isWanted(variant, wanted));
  if (matching.length === 1) return matching[0]!;
  const standard = variants.filter(({ quantization }) => quantization === DEFAULT);
  if (wanted === undefined && standard.length === 1) return standard[0]!;
  const problem =
    wanted === undefined
      ? `${place} has several models`
      : matching.length > 1
        ? `${place} has several models of ${wanted}`
        : `${place} has no ${wanted}`;
  const choices = matching.length > 0 ? matching : variants;
  throw new Error([`${problem}. Choose one:`, ...listChoices(choices, place)].join('\n'));
}

function isWanted({ path, quantization, files }: Variant, wanted: string | undefined): boolean {
  if (wanted === undefined) return true;
  if (!/\.gguf$/i.test(wanted)) return quantization === normalize(wanted);
  return [path, files[0]!.path].some((own) => own === wanted || own.endsWith(`/${wanted}`));
}

/** By quantization, where that names one. */
function listChoices(variants: readonly Variant[], place: string): string[] {
  return variants.map(({ path, quantization, bytes }) => {
    const isOnly = variants.filter((other) => other.quantization === quantization).length === 1;
    return `  MODEL=${place}:${quantization && isOnly ? quantization : path}  (${formatGibibytes(bytes)})`;
  });
}
