/** Parameters of images and videos that the model applies, beside their size and length. */
import { Group, NumberInput, Textarea } from '@mantine/core';
import type { DeploymentView } from '../../api.ts';

type Media = NonNullable<DeploymentView['media']>;

/** As the fields have them: what is empty is not sent, so that the model decides. */
export interface MediaParameters {
  negativePrompt: string;
  seed: number | string;
  steps: number | string;
  guidanceScale: number | string;
}

export const NO_PARAMETERS: MediaParameters = { negativePrompt: '', seed: '', steps: '', guidanceScale: '' };

/** As requests call them, without those that are not set. */
export function listParameters({ negativePrompt, seed, steps, guidanceScale }: MediaParameters) {
  const given = { negative_prompt: negativePrompt.trim(), seed, steps, guidance_scale: guidanceScale };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ''));
}

const UNSET = "Model's default";

interface MediaParameterFieldsProps {
  media: DeploymentView['media'];
  value: MediaParameters;
  onChange: (value: MediaParameters) => void;
}

export function MediaParameterFields({ media, value, onChange }: MediaParameterFieldsProps) {
  const set = (change: Partial<MediaParameters>) => onChange({ ...value, ...change });
  const { parameters = [], steps } = media ?? ({} as Partial<Media>);
  const takes = (name: string) => parameters.includes(name);
  return (
    <>
      {takes('negative_prompt') && (
        <Textarea
          label="Negative prompt"
          placeholder="None"
          value={value.negativePrompt}
          onChange={(event) => set({ negativePrompt: event.currentTarget.value })}
          autosize
          minRows={1}
          maxRows={4}
          w="100%"
        />
      )}
      <Group>
        {takes('seed') && (
          <NumberInput
            label="Seed"
            placeholder="Random"
            value={value.seed}
            onChange={(seed) => set({ seed })}
            min={0}
            max={2_147_483_647}
            allowDecimal={false}
            w={150}
          />
        )}
        {steps && takes('num_inference_steps') && (
          <NumberInput
            label="Steps"
            placeholder={String(steps.default)}
            value={value.steps}
            onChange={(chosen) => set({ steps: chosen })}
            min={steps.min}
            max={steps.max}
            allowDecimal={false}
            w={110}
          />
        )}
        {takes('guidance_scale') && (
          <NumberInput
            label="Guidance scale"
            placeholder={UNSET}
            value={value.guidanceScale}
            onChange={(guidanceScale) => set({ guidanceScale })}
            min={0}
            max={20}
            step={0.5}
            w={150}
          />
        )}
      </Group>
    </>
  );
}
