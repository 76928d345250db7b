import { describeStore } from '../../integration/storage/store-behavior.ts';
import { S3_SERVERS } from '../../support/s3-servers.ts';
import { startS3Store } from './stores.ts';

for (const [name, start] of Object.entries(S3_SERVERS))
  describeStore(`a bucket of ${name}`, () => startS3Store(start));
