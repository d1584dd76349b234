/**
 * What follows the question mark, as it stands in the address. The hook of `wouter` itself unescapes the whole of it; whoever
 * then takes it apart unescapes it once more, and an `&` in a value inside a value would end that value.
 */
export { useSearch } from 'wouter/use-browser-location';
