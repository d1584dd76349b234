import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useSession } from '../session/session';
import { follow, type LiveState, socketAddress } from './follow';
import { topicsOf } from './topics';

/** Keeps what is shown fresh by the project's events, and says whether it does. */
export function useLive(): LiveState {
  const { project, can } = useSession();
  const client = useQueryClient();
  const [state, setState] = useState<LiveState>('connecting');
  const allowed = can('events.read');
  useEffect(() => {
    if (!allowed) return;
    return follow({
      connect(after, ears) {
        const socket = new WebSocket(socketAddress(location, project.id, after));
        socket.onopen = () => ears.onOpen();
        socket.onmessage = (message) => ears.onText(String(message.data));
        socket.onclose = () => ears.onClose();
        return socket;
      },
      onEvent(event) {
        for (const topic of topicsOf(event.type)) void client.invalidateQueries({ queryKey: [topic] });
      },
      onState(next) {
        setState(next);
        // A socket cannot say why it was refused; asking who we are tells whether the session is over.
        if (next === 'down') void client.invalidateQueries({ queryKey: ['whoami'] });
      },
      onGap: () => void client.invalidateQueries(),
      later(milliseconds, then) {
        const timer = setTimeout(then, milliseconds);
        return () => clearTimeout(timer);
      },
    });
  }, [allowed, client, project.id]);
  return allowed ? state : 'live';
}
