/** Builds all that a ModelDeployment is made of. */
import type { ModelDeployment } from '../../contract/model-deployment.ts';
import type { OperatorSettings } from '../settings.ts';
import type { BuildContext, BuiltChildren } from './built-children.ts';

export type BuildChildren = (
  model: ModelDeployment,
  settings: OperatorSettings,
  context?: BuildContext,
) => BuiltChildren;
