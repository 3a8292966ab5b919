"""The Hugging Face hub: push_to_hub, save_pretrained and from_pretrained, with a model card."""

from pathlib import Path
from typing import Any, TypeVar

from huggingface_hub import ModelCard, ModelHubMixin, hf_hub_download

from codednet.models.card import card_text

H = TypeVar("H", bound="HubModel")


class HubModel(ModelHubMixin, library_name="codednet", pipeline_tag="image-classification", license="apache-2.0"):
    """What a network needs to live on the hub, in the two files of `codednet.save` and a model card."""

    def _save_pretrained(self, save_directory: Path) -> None:
        # A network is stored by its files' room, which knows networks: so it is imported when used.
        from codednet.models.store import write_network

        write_network(self, save_directory)  # type: ignore[arg-type]

    @classmethod
    def _from_pretrained(
        cls: type[H],
        *,
        model_id: str,
        revision: str | None,
        cache_dir: str | Path | None,
        force_download: bool,
        local_files_only: bool,
        token: str | bool | None,
        **model_kwargs: Any,
    ) -> H:
        from codednet.models.store import CONFIG, WEIGHTS, read_network

        if model_kwargs:
            raise TypeError(f"from_pretrained takes no {', '.join(model_kwargs)}: a saved network is complete.")
        folder = Path(model_id)
        if folder.is_dir():
            return read_network(folder / CONFIG, folder / WEIGHTS, cls)  # type: ignore[type-var]
        config, weights = (
            hf_hub_download(
                model_id,
                name,
                revision=revision,
                cache_dir=cache_dir,
                force_download=force_download,
                local_files_only=local_files_only,
                token=token,
            )
            for name in (CONFIG, WEIGHTS)
        )
        return read_network(config, weights, cls)  # type: ignore[type-var]

    def push_to_hub(self, repo_id: str, **options: Any) -> str:
        """Upload both files and the card to the hub; options are those of huggingface_hub. The commit's address."""
        card = {"repo_id": repo_id, **(options.pop("model_card_kwargs", None) or {})}
        return super().push_to_hub(repo_id, model_card_kwargs=card, **options)

    def generate_model_card(self, *args: Any, **kwargs: Any) -> ModelCard:
        """Model card: what the network is, its coded blocks, and how to load it."""
        data = vars(self._hub_mixin_info.model_card_data)
        return ModelCard(card_text(self.config, sum(p.numel() for p in self.parameters()), data, **kwargs))  # type: ignore[attr-defined]
