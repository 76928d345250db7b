import { useConsole } from './support/console.ts';
import { describeTasks } from './support/tasks.ts';

describe('somebody who has the console and a keyboard alone', function () {
  this.timeout(120_000);
  const use = useConsole();
  const find = () => use().stack.find('Image');
  describeTasks({
    open: () => use().open('deployments', { reducedMotion: 'reduce' }),
    find,
    setFault: (fault) =>
      Promise.all(
        find().simulatorURLs!.map((url) =>
          fetch(`${url}/control`, { method: 'PUT', body: JSON.stringify({ fault, faultTimes: -1 }) }),
        ),
      ),
  });
});
