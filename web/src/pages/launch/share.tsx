import type { AppForm, LaunchRequest } from '../../api/schema';
import { Button, CommandLine, Copy } from '../../ui/basics';
import { linkTo } from './link';

/** A link that fills in the form the same way for somebody else. */
export function ShareLink({ form, wish, settled }: { form: AppForm; wish: LaunchRequest; settled: boolean }) {
  const path = linkTo(form, wish);
  const link = path === null ? null : location.origin + path;
  return (
    <>
      <div className="row">
        {link === null || !settled ? (
          <Button busy={!settled} reason={settled ? 'With these values the link would be too long; save a preset instead.' : undefined}>
            Copy link to this form
          </Button>
        ) : (
          <Copy text={link} what="link to this form" label="Copy link to this form" variant="plain" />
        )}
      </div>
      <p className="hint">Whoever opens it gets this form filled in and decides themselves. It holds no secrets, name, storage or access.</p>
      {link !== null && settled && (
        <details>
          <summary>Show the link</summary>
          <CommandLine command={link} what="the link" />
        </details>
      )}
    </>
  );
}
