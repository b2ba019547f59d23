/** Waits for the newest run and goes there: what `ramify demo` opens. */
import { useEffect } from "react";
import { api } from "../api/client";
import { useAnswer, useNow } from "../ui/hooks";
import { conversationView, useNavigation } from "../ui/navigation";
import { Start } from "./Start";

export function Latest() {
  const { adjust } = useNavigation();
  const now = useNow(true);
  const newest = useAnswer(() => api.conversations({ limit: 1 }), "latest", Math.floor(now / 1000));
  const id = newest.value?.items[0]?.id;
  useEffect(() => {
    if (id) adjust(conversationView(id));
  }, [id]);
  return <Start />;
}
