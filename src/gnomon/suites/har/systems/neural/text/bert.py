"""The encoder of BERT (Devlin et al., 2019).

Conventions
-----------
- Token numbers and mask are ``(B, L)``; the result is the last hidden states ``(B, L, d)``. What is masked takes no
  part as a key; its own states mean nothing.
- Embedding: token + position + the first segment, then a layer norm. A block is attention and a feed-forward layer with
  the exact GELU, each added to its input and normed after that.
- Layers have the names of the public weights, so that these can be put in as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gnomon.engine.torches import torch as library


@dataclass(frozen=True)
class Sizes:
    """How large an encoder is, by the names that configurations use."""

    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    max_position_embeddings: int
    type_vocab_size: int
    layer_norm_eps: float


def layers(sizes: Sizes) -> Any:
    """Return the layers of an encoder."""
    nn = library().nn
    d = sizes.hidden_size
    embeddings = {
        "word_embeddings": nn.Embedding(sizes.vocab_size, d),
        "position_embeddings": nn.Embedding(sizes.max_position_embeddings, d),
        "token_type_embeddings": nn.Embedding(sizes.type_vocab_size, d),
        "LayerNorm": nn.LayerNorm(d, sizes.layer_norm_eps),
    }
    blocks = nn.ModuleList(_block(sizes) for _ in range(sizes.num_hidden_layers))
    return nn.ModuleDict({"embeddings": nn.ModuleDict(embeddings), "encoder": nn.ModuleDict({"layer": blocks})})


def _block(sizes: Sizes) -> Any:
    nn = library().nn
    d, inner = sizes.hidden_size, sizes.intermediate_size

    def out(width: int) -> Any:
        return nn.ModuleDict({"dense": nn.Linear(width, d), "LayerNorm": nn.LayerNorm(d, sizes.layer_norm_eps)})

    own = nn.ModuleDict({name: nn.Linear(d, d) for name in ("query", "key", "value")})
    return nn.ModuleDict(
        {
            "attention": nn.ModuleDict({"self": own, "output": out(d)}),
            "intermediate": nn.ModuleDict({"dense": nn.Linear(d, inner)}),
            "output": out(inner),
        }
    )


def run(parts: Any, sizes: Sizes, numbers: Any, mask: Any) -> Any:
    """Return the last hidden states of tokens."""
    torch = library()
    embed = parts["embeddings"]
    places = torch.arange(numbers.shape[1], device=numbers.device)
    tokens = embed["word_embeddings"](numbers) + embed["position_embeddings"](places)
    tokens = embed["LayerNorm"](tokens + embed["token_type_embeddings"].weight[0])
    keys = None if bool(mask.all()) else mask[:, None, None, :]
    for block in parts["encoder"]["layer"]:
        tokens = _attend(block["attention"], sizes, tokens, keys)
        inner = torch.nn.functional.gelu(block["intermediate"]["dense"](tokens))
        tokens = block["output"]["LayerNorm"](tokens + block["output"]["dense"](inner))
    return tokens


def _attend(attention: Any, sizes: Sizes, tokens: Any, keys: Any) -> Any:
    n, length, d = tokens.shape
    heads = sizes.num_attention_heads
    q, k, v = (
        attention["self"][name](tokens).view(n, length, heads, d // heads).transpose(1, 2)
        for name in ("query", "key", "value")
    )
    mixed = library().nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=keys)
    out = attention["output"]
    return out["LayerNorm"](tokens + out["dense"](mixed.transpose(1, 2).reshape(n, length, d)))


def pooled(states: Any, mask: Any) -> Any:
    """Return the mean of the states that are not masked, as unit vectors ``(B, d)``.

    An empty text still has its two marks, so that there is always something to take the mean of.
    """
    weights = mask.unsqueeze(-1).to(states.dtype)
    mean = (states * weights).sum(dim=1) / weights.sum(dim=1)
    return library().nn.functional.normalize(mean, dim=-1)
